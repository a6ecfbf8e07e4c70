"""The short way: a plain prompt, `daemon status` or a search, without click, in bare Python's time.

Modules here import `os`, `sys`, `time`, `_signal` and `_socket` only, and to lay out
hits `unicodedata`. They decide nothing that the long way does not decide alike, which
property tests hold; at anything unusual they give up and hand over what they have
done so far.
"""
