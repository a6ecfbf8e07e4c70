"""Markdown on a terminal: cut into blocks while it grows, painted, and shown once.

`blocks` (with `lines`) is pure and cuts; `paint` (with `inline` and `code`) is the only part
that imports rich, which `loading` does beside the work; `live` writes on a terminal whose shape
`rows` follows, and `first` the words that come before all that is loaded; `wanted` says whether
anything is painted at all. Nothing here asks anybody anything.
"""
