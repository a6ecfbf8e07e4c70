"""Schedules and their slots: rows beside the log, changed in its transactions.

It decides nothing about time: `core.schedules` does, and `jobs` acts on it.
"""
