"""Whom to believe over TLS: the certificates of a `ca_file`, or the system's.

It reads files and makes a context; it connects to nothing and weakens nothing.
"""

import ssl
from pathlib import Path

import certifi

from askd.errors import Unavailable
from askd.providers.base import Endpoint


def load_certificates(endpoint: Endpoint) -> ssl.SSLContext:
    """A context for this endpoint.

    Raises:
        Unavailable: its `ca_file` cannot be read or holds no certificate.
    """
    if endpoint.ca_file is None:
        return load_system_certificates()
    try:
        return ssl.create_default_context(cafile=Path(endpoint.ca_file).expanduser())
    except ssl.SSLError:
        reason = "it holds no certificate (PEM)"
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody's home is known
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    raise Unavailable(
        f"{endpoint.provider}: `ca_file` {endpoint.ca_file} cannot be used: {reason}",
        data={"final": True},
    )


def load_system_certificates() -> ssl.SSLContext:
    """A context with what this system trusts."""
    # A system without certificates of its own (a small container) gets Mozilla's.
    return ssl.create_default_context(cafile=None if has_system_store() else certifi.where())


def has_system_store() -> bool:
    """Whether OpenSSL finds certificates where this system keeps them."""
    paths = ssl.get_default_verify_paths()  # None for what does not exist
    if paths.cafile:
        return True
    try:
        return any(Path(paths.capath or "/nowhere").iterdir())
    except OSError:
        return False
