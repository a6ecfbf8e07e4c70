"""The question before something goes for good; no answer is no.

Whether there is a person to be asked, and what happens without one, is decided by who asks.
"""

import sys

import click


def ask_consent(question: str) -> bool:
    """Put a question that is answered by y or yes, on stderr."""
    click.echo(f"{question} [y/N] ", nl=False, err=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        click.echo(err=True)  # Ctrl-D shows nothing
    return answer.strip().lower() in ("y", "yes")
