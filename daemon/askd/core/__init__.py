"""The pure core: values and functions over an append-only log.

Nothing in this room awaits, reads a clock, draws a random number or touches a
file; it imports the standard library only. Everything that happens to a
conversation is decided here and carried out elsewhere.
"""
