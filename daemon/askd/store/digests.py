"""Digests of prompts: whether a key that comes again comes with the prompt that it stands for.

A digest is made over target, parts and options as a caller said them
(`server.handlers.turns`), and events do not tell it. Where the table of keys was
lost and is written anew from events, a mark stands in its place, and fits every
prompt: a repeated key must not run twice, whoever lost the table.
"""

ANY_DIGEST = "*"
"""In the place of a digest that nobody knows any more; SHA-256 in hex has no such character."""


def is_same_prompt(known: str, said: str) -> bool:
    """Whether a prompt with the digest `said` is the one that was accepted as `known`."""
    return known in (said, ANY_DIGEST)
