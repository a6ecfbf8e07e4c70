"""Tests of the short way."""
