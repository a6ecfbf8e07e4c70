"""Secrets: kept out of what is written, and taken out of what was.

`redacting` stands before the log. `scrubber` takes a secret out of everything that is
stored: `texts` looks for it by `matching`, `plans` says what is to be done to a
conversation, `replacing` does it in one transaction, `files` are those beside the database.
"""
