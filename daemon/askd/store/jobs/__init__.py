"""Background jobs, as rows: what is to be done, by whom it was taken, how it ended.

`rows` are changed in the transactions of the one writer, and `turns` are those that follow
their turn's events; `table` is how the worker asks for that, `orders` how people do.
`queries` only reads.
"""
