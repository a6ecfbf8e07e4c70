"""`ask history search` the short way: words, `-n` and `--rank`, one page of hits.

It prints what the long way prints (a test compares them), and gives up at anything
unusual: a search changes nothing, so the long way just asks again.
"""

import os

from ask.fast import caller
from ask.hits import NOTHING, is_styled, lay_out_hits, say_more

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ask.fast.argv import Search

QUIET_S = 30.0
"""As long as the long way waits for an answer: a word of every message takes its time."""
DONE, FAILED, PIPE_CLOSED = 0, 1, 141


def run_search(asked: "Search", environ: "Mapping[str, str]") -> int | None:
    """Print the hits: the exit code, or None where the long way has to say something."""
    page = _find(asked, environ)
    if page is None:
        return None
    try:
        hits, more = page["data"], page.get("next_cursor") is not None
        if more and len(hits) < asked.limit:
            return None  # the rest comes with further requests
        text = "".join(f"{line}\n" for line in _lay_out(hits))
    except (LookupError, TypeError, ValueError, OverflowError, OSError):
        return None
    try:
        caller.write_all(1, text.encode(errors="replace"))
    except caller.StdoutClosed:
        return PIPE_CLOSED
    except caller.StdoutFailed:
        return None
    if not hits:
        caller.say(f"{NOTHING}\n")
        return FAILED
    if more:
        caller.say(f"{say_more(asked.limit)}\n")
    return DONE


def _lay_out(hits: "list[Any]") -> "list[str]":
    if not os.isatty(1):
        return lay_out_hits(hits, None, styled=False)
    import shutil  # a person looks at it: 3 ms are nothing

    styled = is_styled(os.environ)
    return lay_out_hits(hits, shutil.get_terminal_size().columns, styled=styled)


def _find(asked: "Search", environ: "Mapping[str, str]") -> "dict[str, Any] | None":
    """Ask the running daemon; None: the long way finds out what is wrong."""
    params: dict[str, object] = {"text": asked.text, "limit": asked.limit}
    if asked.rank:
        params["rank"] = True
    return caller.ask_once(environ, "conversation/search", params, quiet_s=QUIET_S)
