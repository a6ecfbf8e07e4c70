"""One line of Markdown: what it begins, and how far it stands in.

Pure, and without `re`: it is loaded while the first token is waited for. It follows
CommonMark 0.31 and GitHub's tables (spec.commonmark.org, github.github.com/gfm) as far as
single lines tell; what reaches over lines is for `ask.markdown.blocks`.
"""

TAB_STOP = 4
"""Columns between tab stops, as CommonMark counts them."""
CODE_INDENT = 4
"""From this many columns on, outside of lists, a line is code."""
FENCE_LEAST, RULE_LEAST, HEADING_MOST, DIGITS_MOST = 3, 3, 6, 9
BULLETS = "-*+"


def find_indent(line: str) -> int:
    """The columns of white space before the first character."""
    columns = 0
    for character in line:
        if character == " ":
            columns += 1
        elif character == "\t":
            columns += TAB_STOP - columns % TAB_STOP
        else:
            break
    return columns


def read_fence(line: str) -> tuple[str, str] | None:
    """The marks of a fence that the line opens, and the words behind them; None: it opens none."""
    text = line.strip()
    mark = text[:1]
    if mark not in ("`", "~"):
        return None
    info = text.lstrip(mark)
    size = len(text) - len(info)
    if size < FENCE_LEAST or (mark == "`" and "`" in info):
        return None  # "```x``` in a row" is code within a line
    return mark * size, info.strip()


def closes_fence(line: str, fence: str) -> bool:
    """Whether a line ends the code that `fence` has begun."""
    text = line.strip()
    return len(text) >= len(fence) and not text.strip(fence[0])


def is_heading(line: str) -> bool:
    """Whether it is `# words`."""
    text = line.strip()
    rest = text.lstrip("#")
    return 0 < len(text) - len(rest) <= HEADING_MOST and rest[:1] in ("", " ", "\t")


def is_rule(line: str) -> bool:
    """Whether it is a line across: three or more of one of `-`, `*`, `_`."""
    marks = line.replace(" ", "").replace("\t", "").rstrip("\r\n")
    return len(marks) >= RULE_LEAST and marks[0] in "-*_" and not marks.strip(marks[0])


def find_underline(line: str) -> int:
    """The level of the heading that it makes of the paragraph above; 0: none."""
    text = line.strip()
    if not text or text.strip(text[0]):
        return 0
    return {"=": 1, "-": 2}.get(text[0], 0)


def find_marker(line: str) -> int:
    """How long the mark of a list's item is, `-` or `12.`, behind the indentation; 0: none."""
    text = line.strip(" \t\r\n")
    digits = len(text) - len(text.lstrip("0123456789"))
    if not digits:
        size = 1 if text[:1] and text[0] in BULLETS else 0
    elif digits <= DIGITS_MOST and text[digits : digits + 1] in (".", ")"):
        size = digits + 1
    else:
        size = 0
    return size if size and text[size : size + 1] in ("", " ", "\t") else 0


def can_interrupt(line: str) -> bool:
    """Whether an item may follow a paragraph at once: one with words, and a number only if 1."""
    text = line.strip()
    size = find_marker(line)
    return len(text) > size and (size == 1 or text[: size - 1] == "1")


def is_delimiter(line: str) -> bool:
    """Whether it is the row of dashes below the head of a table."""
    text = line.strip()
    if "-" not in text or ("|" not in text and ":" not in text) or text.strip("|-: \t"):
        return False
    return all(cell.strip().strip(":").strip("-") == "" != cell.strip() for cell in cut_row(text))


def cut_row(line: str) -> list[str]:
    """The cells of a table's row; `\\|` is no border, and becomes `|`."""
    text = line.strip().removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    cells = [""]
    for place, character in enumerate(text):
        if character == "|" and text[place - 1 : place] != "\\":
            cells.append("")
        elif character == "|":
            cells[-1] = cells[-1][:-1] + "|"
        else:
            cells[-1] += character
    return [cell.strip() for cell in cells]
