"""Tests of secrets: kept out, and taken out."""
