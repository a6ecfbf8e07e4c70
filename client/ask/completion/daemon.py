"""What a running daemon is asked at a Tab: within one limit for all of it, or not at all.

It starts none. A daemon that is stopped, slow, another user's or of another protocol is as
good as none; a person who waits for a Tab would rather type on.
"""

import _signal
import os

from ask.fast import caller

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")

LIMIT_S = 0.1
"""For connecting, asking and reading together: what is longer is felt as waiting."""


class TimeUp(Exception):
    """The limit has passed; no `OSError`, so that nothing on the way takes it for one."""


def ask_in_time(work: "Callable[P, T]", *said: "P.args", **named: "P.kwargs") -> "T | None":
    """What `work` answers, or None if it is not done in time. For the main thread."""
    before = _signal.signal(_signal.SIGALRM, _raise)
    try:
        try:
            _signal.setitimer(_signal.ITIMER_REAL, LIMIT_S)
            return work(*said, **named)
        finally:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, before)
    except TimeUp:
        return None


def ask_daemon(method: str, params: "Mapping[str, object]") -> "dict[str, Any]":
    """One answer of the daemon; an empty one if there is none, or it refuses.

    The best socket is tried, then the one that the owner's note names.
    """
    if os.environ.get("ASK_HOST"):
        return {}  # nobody waits for another machine at a Tab
    answer = caller.ask_once(os.environ, method, params, quiet_s=LIMIT_S)
    if answer is None:
        noted = _find_noted()
        if noted is not None:
            environ = {**os.environ, "ASK_SOCKET": noted}
            answer = caller.ask_once(environ, method, params, quiet_s=LIMIT_S)
    return answer or {}


def tell_caller() -> "dict[str, object]":
    """What a listing is told of who asks: `{env, secrets}`, by the tables of names."""
    return {
        "env": caller.take(dict(os.environ), caller.CALLER_ENVIRONMENT),
        "secrets": caller.take(dict(os.environ), caller.SECRET_NAMES),
    }


def _find_noted() -> str | None:
    """Where the owner of the data directory listens, if that is not where one looks first."""
    data = caller.find_data(os.environ)
    if data is None or not os.path.exists(f"{data}/owner.json"):
        return None
    from ask.paths import Paths  # 20 ms, for those whose daemon was started from elsewhere

    owner = Paths.of(os.environ).read_owner() or {}
    place = owner.get("socket")
    return place if place and place != caller.first_socket(os.environ) else None


def _raise(number: int, frame: "FrameType | None") -> None:
    raise TimeUp
