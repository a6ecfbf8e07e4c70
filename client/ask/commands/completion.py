"""`ask completion SHELL`: the script that teaches a shell ask's words.

It prints and installs nothing: where a script belongs is the shell's and its owner's to say.
What the script asks at a Tab, and what it is answered, is the room `ask.completion`.
"""

import click

from ask.commands.help import Command, Example
from ask.completion.answer import SHELLS, load_script


@click.command(
    "completion",
    cls=Command,
    examples=[
        Example("ask completion bash"),
        Example("mkdir -p ~/.config && ask completion fish > ~/.config/ask.fish"),
    ],
)
@click.argument("shell", metavar="{bash|zsh|fish}", type=click.Choice(SHELLS), required=False)
def completion_command(shell: str | None) -> None:
    """Print the completion script of a shell.

    For bash, put this in ~/.bashrc: eval "$(ask completion bash)". For zsh, put this
    in ~/.zshrc, behind compinit: source <(ask completion zsh). For fish, write it to
    ~/.config/fish/completions/ask.fish.
    """
    if shell is None:
        raise click.UsageError("Name the shell: bash, zsh or fish.")
    click.echo(load_script(shell), nl=False)
