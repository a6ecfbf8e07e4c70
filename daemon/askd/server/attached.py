"""Who is attached to a conversation, as clients are told: few, short, and with their terminals.

What a program says of itself is cut and cleaned; its process is the kernel's word, and the
terminal is looked up when somebody asks. Nothing here waits, and nobody is kept out.
"""

from collections.abc import Sequence

from ask.protocol.messages import AttachedClient
from askd.processes.terminals import find_terminal
from askd.sessions.hub import Client

ATTACHED = "attached"
"""The capability of a client that wants to hear who else is there."""
CLIENTS_LIMIT = 8
NAME_LENGTH = 24
"""Of one conversation, and in characters: the longest page, with all watched, fits a message."""
NAMELESS = "a client"


def clean_name(text: str) -> str:
    """What a program calls itself, as it may stand in a line of a log or a terminal."""
    name = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return name[:NAME_LENGTH].rstrip() or NAMELESS


def describe_clients(clients: Sequence[Client]) -> list[AttachedClient]:
    """The first of those who are attached."""
    return [
        AttachedClient(
            client=each.program,
            pid=each.pid,
            tty=None if each.pid is None else find_terminal(each.pid),
            interactive=each.interactive,
        )
        for each in clients[:CLIENTS_LIMIT]
    ]
