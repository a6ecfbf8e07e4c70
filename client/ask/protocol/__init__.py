"""The contract between `ask` and `askd`: frames, messages, errors, names.

MessagePack-RPC over a Unix stream socket. This package imports the standard
library and msgpack only, and lives on the client's side, so that a client runs
where no daemon is installed.

If any message changes its meaning or loses a field, raise `PROTOCOL` and add a
golden file beside the others in `tests/data/protocol`. A new optional parameter
or method only adds a word to `CAPABILITIES`.
"""

PROTOCOL = 1
"""The major version. A daemon of another one is drained and replaced."""

CAPABILITIES: tuple[str, ...] = ("turns", "blobs", "jobs", "ephemeral", "attached")
"""What a daemon of this version can do, as `hello` answers it."""
