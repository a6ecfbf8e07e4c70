"""The store: the log on the disk, one writer, many readers.

`log` is what the floors above see; `writer` keeps it in SQLite, `memory` for as
long as the daemon lives, `queries` reads what was committed. A change is
written once, in `changes`, as a function of a connection and a time; `batch`
carries many of them through one transaction.

What has a room of its own here: `jobs` and `search` are tables of the same database,
`rollouts` mirrors every conversation beside it, `scrub` takes secrets out of all of
them, `recovery` makes a database of what is left of one.
"""
