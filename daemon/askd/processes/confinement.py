"""What a confined child may touch: a value, for those who build it and those who apply it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Confiner = Literal["bubblewrap", "landlock", "none"]
"""With what children are confined on this machine; `none`: nothing here could."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """Everything may be read but what is hidden, nothing written but what is writable.

    All paths are absolute, and free of links but that a last part may be one. What is
    read-only or hidden is so inside of what is writable, too.

    Attributes:
        hidden: neither read nor entered: what holds keys, conversations, our socket.
        network: it may reach the network; never a Unix socket by its path.
        private_tmp: it gets a directory of its own for temporary files, and TMPDIR says where;
            the directory goes when it ends.
    """

    writable: Sequence[str] = ()
    read_only: Sequence[str] = ()
    hidden: Sequence[str] = ()
    network: bool = False
    private_tmp: bool = False
