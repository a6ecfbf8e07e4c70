"""How large a message may be, and what it carries: the numbers of the contract, without its shapes.

The shapes are a hundred classes, and take longer to make than most commands take
to run. What only cuts and joins bytes needs these.
"""

from typing import Any

MESSAGE_LIMIT_BYTES = 1024 * 1024
"""The largest message, either way."""
HELLO_LIMIT_BYTES = 64 * 1024
"""The largest first message: nothing is known of the peer yet."""
NESTING_LIMIT = 32
"""Lists and maps within each other, the message itself counted as 1."""
CONTAINER_LIMIT = 20_000
"""Lists and maps in one message: 1 MiB of empty maps would be 65 MiB of memory."""
BLOB_LIMIT_BYTES = 32 * 1024 * 1024
IMPORT_LIMIT_BYTES = 256 * 1024 * 1024
"""The largest file that `conversation/import` takes."""
BLOB_CHUNK_BYTES = 256 * 1024
"""What one `blob/put` or `blob/read` carries at the most."""

Map = dict[str, Any]
