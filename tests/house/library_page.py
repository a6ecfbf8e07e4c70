"""Renders `docs/reference/library.md` from the public names of `ask` and their docstrings.

Run `python -m tests.house.library_page` to write it. Signatures, fields and sentences
come from the code; only the headings and the opening are written here.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator
from typing import Any

import ask
from ask.library import prompts
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "library.md"

CHAPTERS: dict[str, tuple[str, ...]] = {
    "Connecting and asking": ("connect", "Client", "Options", "Attachment", "Turn"),
    "Conversations": ("Conversations", "Conversation", "Subscription", "Hit", "Compaction"),
    "Jobs": ("Jobs", "Job", "JobState", "JobFailure"),
    "Events": (
        *("Event", "Accepted", "Started", "TextDelta", "ReasoningDelta", "ArgumentsDelta"),
        *("Message", "ToolCall", "ToolOutput", "Question", "Choice", "Answered", "Progress"),
        *("Finished", "Outcome", "Usage", "Other"),
    ),
    "Errors": (
        *("Error", "TurnFailed", "UsageError", "NotFound", "CredentialsError", "RateLimited"),
        *("ApprovalNeeded", "Overflow", "Busy", "AnswerCut", "NoDaemon", "ConnectionLost"),
        *("StorageFailed", "TimeLimit", "Interrupted"),
    ),
}
"""Every public name, in the order in which one meets it."""

HEAD = """\
# The library

`import ask` is the client as a library: blocking, typed (`py.typed`), and without any dependency
that the client has not. Importing it loads nothing; a name loads what it needs when it is used.
[Write a program](../how-to/write-a-program.md) shows how it is used.

Every name below is public and stays; what begins with an underscore, and every module within
`ask`, may change with any release. A later one may bring more events, fields, options and errors,
so let a `match` have a last case. Times `*_at` (and `at`) are unix seconds, durations `*_s`
seconds.

One client belongs to one thread of one process. The turns and subscriptions that it reads have a
connection each; the daemon takes some hundreds in all.
"""

EVERY = """\
Every event has these fields; the tables below leave them out.

"""

FOOT = """
This page is generated from the docstrings of `client/ask/library/` by
`tests/house/library_page.py`.
"""


def render() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in CHAPTERS.items():
        parts.append(f"\n## {title}\n")
        parts += [render_name(name) for name in names]
    return "".join([*parts, FOOT])


def render_name(name: str) -> str:
    """The section of one public name."""
    value = getattr(ask, name)
    if isinstance(value, types.UnionType):
        members = ", ".join(f"`{each.__name__}`" for each in typing.get_args(value))
        return f"\n### `{name}`\n\nAny of {members}.\n\n{EVERY}" + render_table(
            ("field", "type", "meaning"), _list_common()
        )
    if typing.get_origin(value) is typing.Literal:
        words = ", ".join(f"`{each!r}`" for each in typing.get_args(value))
        return f"\n### `{name}`\n\nAny of {words}.\n"
    if inspect.isfunction(value):
        return f"\n### `{name}{show_signature(value)}`\n\n{show_doc(value)}"
    text = f"\n### `{name}`\n\n{show_doc(value)}"
    if typing.is_typeddict(value):
        options = [(f"`{key}`", kind, doc) for key, kind, doc in _list_options()]
        return text + "\n" + render_table(("option", "type", "meaning"), options)
    if dataclasses.is_dataclass(value):
        rows = list(_list_fields(value))
        return text + ("\n" + render_table(("field", "type", "default"), rows) if rows else "")
    return text + "".join(_render_members(value))


def _render_members(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"\n#### `{kind.__name__}.{name}`\n\n{show_doc(member)}"
        elif inspect.isfunction(member):
            yield f"\n#### `{kind.__name__}.{name}{show_signature(member)}`\n\n{show_doc(member)}"


def show_signature(function: Any) -> str:
    """A signature as it is written, without `self`: what Python makes of types varies."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    assert node.returns is not None
    arguments = node.args
    arguments.args = [each for each in arguments.args if each.arg != "self"]
    if arguments.kwarg is not None and "Options" in ast.unparse(arguments.kwarg):
        arguments.kwarg.annotation = None
    shown = re.sub(r"(?<=[\]\w])=(?=\S)", " = ", _write(arguments))
    return f"({shown}) -> {_write(node.returns)}"


def _write(node: ast.AST) -> str:
    """Code without the quotes of names that come later."""
    return re.sub(r"^'(.*)'$", r"\1", ast.unparse(node).replace("os.PathLike", "PathLike"))


def show_doc(value: Any) -> str:
    """A docstring as Markdown: its sections become lists."""
    lines: list[str] = []
    listing = False
    for line in (inspect.getdoc(value) or "").splitlines():
        section = re.fullmatch(r"(Args|Raises|Attributes):", line)
        if section:
            lines += [f"{section[1]}:", ""]
            listing = True
        elif listing and (entry := re.fullmatch(r"    (\w[\w, ]*): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif listing and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            listing = listing and bool(line)
            lines.append(line)
    return textwrap.dedent("\n".join(lines)).strip() + "\n"


def _list_fields(kind: Any) -> Iterator[tuple[str, str, str]]:
    for name, hint, default in _read_fields(kind):
        if not (name == "_" or hint.startswith("ClassVar")):
            yield f"`{name}`", f"`{hint}`", f"`{default}`" if default else ""


def _list_common() -> Iterator[tuple[str, str, str]]:
    documented = dict(re.findall(r"    (\w+): (.*)", inspect.getdoc(_happening()) or ""))
    for name, hint, _ in _read_fields(_happening()):
        yield f"`{name}`", f"`{hint}`", documented[name]


def _read_fields(kind: Any) -> Iterator[tuple[str, str, str]]:
    """The fields that a class itself declares: name, type and default, as they are written."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            default = "" if each.value is None else ast.unparse(each.value)
            yield each.target.id, _write(each.annotation), default


def _happening() -> type:
    return ask.Started.__mro__[1]


def _list_options() -> Iterator[tuple[str, str, str]]:
    """The options with the sentence that stands below each in the source."""
    (body,) = [
        node.body
        for node in ast.parse(inspect.getsource(prompts)).body
        if isinstance(node, ast.ClassDef) and node.name == "Options"
    ]
    for place, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = body[place + 1]
            assert isinstance(after, ast.Expr)
            assert isinstance(after.value, ast.Constant)
            hint = _write(node.annotation).removesuffix(" | None")
            yield node.target.id, f"`{hint}`", str(after.value.value)


if __name__ == "__main__":
    write_page(PATH, render())
