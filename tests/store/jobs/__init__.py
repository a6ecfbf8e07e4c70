"""Tests of the rows of background jobs."""
