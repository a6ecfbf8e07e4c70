"""Everybody who serves models: pure codecs, one transport, keys, names, the embedded model.

`registry.Models` is the door; `base` has the values that come through it. This
room knows no conversation, no log and no client.
"""
