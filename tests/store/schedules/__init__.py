"""Tests of the rows of schedules and their slots."""
