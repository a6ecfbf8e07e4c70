"""Snapshots: what files were before a turn wrote, and how they come back.

In a git work tree a commit holds all of it, elsewhere copies hold the files that were
written. This room knows repositories and files, and no conversation: which snapshot
belongs to whom, and when one is taken, is not decided here.
"""
