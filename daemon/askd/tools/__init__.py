"""Tools: what a model may ask the house to do.

This room knows what a tool is and keeps the list of them. It decides nothing
about permission, and it starts no process of its own.
"""
