"""Sessions: conversations that are live in the daemon.

A session's state is the fold of committed events and nothing else. This room
admits prompts, runs turns one after the other, and publishes what happens. It
opens no file, no database and no connection, and it does not know the wire.
"""
