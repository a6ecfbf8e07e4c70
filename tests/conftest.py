"""What holds for every test: nothing goes by a proxy of whoever runs them, and no clock judges."""

import os

from hypothesis import HealthCheck, settings

from ask.protocol.names import PROXY_NAMES

# Tests talk to loopback alone, and so do the processes that they start; a proxy would not find it.
for _name in PROXY_NAMES:
    os.environ.pop(_name, None)

# How long an example takes says how busy the machine is; what is slow is measured in tests/bench.
settings.register_profile("ask", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ask")
