"""Text that can be written in UTF-8, whatever JSON was made to hold.

Pure. JSON can hold half of a pair of surrogates, which is no character and which nothing can be
sent, shown or stored with; a question mark stands in its place. It changes nothing else.
"""

from collections.abc import Mapping
from typing import Any


def make_writable(text: str) -> str:
    """The text, with a question mark for each lone surrogate."""
    return text.encode(errors="replace").decode()


def make_all_writable(value: Any) -> Any:
    """A value that was JSON, with each text in it made writable; the names in maps, too."""
    match value:
        case str():
            return make_writable(value)
        case Mapping():
            return {
                make_all_writable(name): make_all_writable(each) for name, each in value.items()
            }
        case list() | tuple():
            return [make_all_writable(each) for each in value]
        case _:
            return value
