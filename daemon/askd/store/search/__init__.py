"""Search: what was said anywhere, by its words.

`index` is kept in the transaction of each event, `queries` reads it, `migration` filled it
from the logs that were there before.
"""
