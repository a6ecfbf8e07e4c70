"""Renders `docs/reference/exit-codes.md` from `ask.protocol.errors`.

Run `python -m tests.house.exit_codes_page` to write it; it holds nothing that
the two tables of the contract do not say.
"""

from ask.protocol.errors import EXIT_CODES, REASONS
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "exit-codes.md"

HEAD = """\
# Exit codes

`ask` ends with a code that tells what became of the request. The answer is on standard output, the
sentence for people on standard error; [scripts](../how-to/scripts.md) shows how to use both.

"""

REASONS_HEAD = """
## Reasons

One code has several causes. A program that needs to tell them apart reads the reason: a word in
`data.reason` of an error on the wire, and of the error that `--json` prints. Every reason comes
with one code; what each means is with [the errors](errors.md).

"""

FOOT = """
This page is generated from `client/ask/protocol/errors.py` by `tests/house/exit_codes_page.py`.
"""


def render() -> str:
    """The whole page."""
    codes = [(str(code), text) for code, text in sorted(EXIT_CODES.items())]
    by_code: dict[int, list[str]] = {}
    for reason, code in REASONS.items():
        by_code.setdefault(code, []).append(f"[`{reason}`](errors.md#{reason})")
    reasons = [(str(code), ", ".join(by_code[code])) for code in sorted(by_code)]
    return (
        HEAD
        + render_table(("code", "meaning"), codes)
        + REASONS_HEAD
        + render_table(("code", "reasons"), reasons)
        + FOOT
    )


if __name__ == "__main__":
    write_page(PATH, render())
