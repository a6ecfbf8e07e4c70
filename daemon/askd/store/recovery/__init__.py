"""Recovery: a database from what is left of one, and from its mirrors; the daemon is away.

`rebuild` and `restore` are the doors, for whoever owns the data directory. What
they replace is put aside under another name and never deleted.
"""
