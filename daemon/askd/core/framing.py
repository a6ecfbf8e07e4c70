"""Frames: content that came from somewhere, between tags that say from where.

Nothing inside a frame can end it and pose as what stands beside it. What stands in
one is not changed, and whether a model heeds it is not known here.
"""


def frame_text(tag: str, text: str, *, path: str | None = None) -> str:
    """The text between tags of this name, each on a line of its own; `path`: of its source."""
    while f"</{tag}>" in text:
        tag += "_"
    opening = tag if path is None else f'{tag} path="{_quote(path)}"'
    ending = "" if text.endswith("\n") else "\n"
    return f"<{opening}>\n{text}{ending}</{tag}>"


def _quote(name: str) -> str:
    """A path inside an attribute: no quote, angle bracket or line end can leave it."""
    safe = "".join(c if c.isprintable() else "?" for c in name)
    return (
        safe.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    )
