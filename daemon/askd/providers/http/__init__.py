"""The one way out: connections, time limits, retries, rate limits; no secret comes back in."""

import sys

# httpx imports its own command line if what that draws with is installed, as it is for `ask`:
# 5 MiB and a third of its loading time, for what no daemon calls. It says itself that it can be
# without it.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
