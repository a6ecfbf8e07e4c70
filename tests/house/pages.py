"""What the generated pages of the documentation share: where they are, how they are written.

A generated page is rendered from the code and kept in `docs/reference`. A test
compares the two, so that the page cannot say what the code does not do.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a `|` inside a cell is escaped, a line break becomes a space."""
    lines = [_row(head), "|" + " --- |" * len(head)]
    lines += [_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def write_page(path: Path, text: str) -> None:
    """Write a page and say so; run by hand when its test finds it out of date."""
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")


def _row(cells: Sequence[str]) -> str:
    escaped = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(escaped) + " |"
