"""`ask`, the client of askd: a command, and a small blocking library.

    import ask
    with ask.connect() as daemon:
        daemon.call("conversation/list", {"limit": 5})

Loading this package loads nothing else (PEP 562): the command's start-up time is
what the daemon exists for. It never imports trio, pydantic, httpx or askd.
"""

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from ask.connection import Client as Client
    from ask.connection import connect as connect

__version__ = "0.1.0"

__all__ = ["Client", "__version__", "connect"]


def __getattr__(name: str) -> object:
    if name in ("Client", "connect"):
        from ask import connection

        return getattr(connection, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
