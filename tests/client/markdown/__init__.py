"""Tests of `ask.markdown`."""
