"""Schema 3: the index of all that was said, filled from the events that are in the log.

Released, and so never changed: another index is a later migration's. It reads
one event after the other; what it cannot read of an old log it passes over.
"""

import sqlite3

from askd.store.search.index import TABLES, rebuild


def add_search(connection: sqlite3.Connection) -> None:
    """Make the tables and take in everything that the log says."""
    for statement in TABLES:
        connection.execute(statement)
    rebuild(connection)
