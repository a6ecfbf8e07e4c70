"""What holds for every test: nothing goes by a proxy of whoever runs them."""

import os

from ask.protocol.names import PROXY_NAMES

# Tests talk to loopback alone, and so do the processes that they start; a proxy would not find it.
for _name in PROXY_NAMES:
    os.environ.pop(_name, None)
