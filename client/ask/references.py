"""References in a prompt: `@server:uri` names something that a server of tools offers.

Pure: which servers there are is for the caller to know. What has no scheme behind the
colon is none (`@user:host`, `@git: look`), so that hardly a prompt has to ask for them.
"""

import re
from dataclasses import dataclass

URI_LIMIT = 2048
"""Characters of an address; longer ones are text that has one colon too many."""

_NAME = r"[A-Za-z0-9_-]{1,32}"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
"""Of a URI (RFC 3986, 3.1)."""
_REFERENCE = re.compile(rf'@({_NAME}):(?:"({_SCHEME}[^"\n]+)"|({_SCHEME}[^\s"]+))')
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
_LOOSE = frozenset(".…,;:!?'`´’”»|*")
"""What ends a sentence, or stands around a word, and rarely ends an address."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What one `@server:uri` means."""

    server: str
    uri: str

    @property
    def name(self) -> str:
        """As it was written, but for the quotes."""
        return f"{self.server}:{self.uri}"


def read_reference(text: str, place: int) -> tuple[Reference, int] | None:
    """What the `@` at this place refers to, if a server has that name, and where it ends."""
    match = _REFERENCE.match(text, place, place + URI_LIMIT)
    if match is None:
        return None
    server, quoted, plain = match.groups()
    uri = quoted or cut_loose(plain)
    if uri.endswith(":"):
        return None  # `@a:b:`: a scheme, and nothing that it leads to
    return Reference(server, uri), match.end() if quoted else match.start(3) + len(uri)


def cut_loose(uri: str) -> str:
    """An address less what the sentence around it has put behind it: `(see x://y).`"""
    while uri:
        last = uri[-1]
        opener = _PAIRS.get(last)
        is_lone = opener is not None and uri.count(last) > uri.count(opener)
        if not is_lone and last not in _LOOSE:
            break
        if last == ":" and uri.count(":") == 1:
            break  # the scheme's own
        uri = uri[:-1]
    return uri
