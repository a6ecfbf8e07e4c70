"""Tests of what each method does."""
