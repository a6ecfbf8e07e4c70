"""`ask completion SHELL`: the script that teaches a shell ask's words.

It prints and installs nothing. Names of conversations are asked of a running
daemon when Tab is pressed; none is started for that.
"""

import click
from click.shell_completion import get_completion_class

from ask.commands.help import Command, Example

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ASK_COMPLETE"
"""Set by the script when it asks; `ask` then answers instead of running."""


@click.command(
    "completion",
    cls=Command,
    examples=[
        Example("ask completion bash"),
        Example("mkdir -p ~/.config && ask completion fish > ~/.config/ask.fish"),
    ],
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, put this in ~/.bashrc: eval "$(ask completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click knows every shell of SHELLS"
    script = kind(context.find_root().command, {}, "ask", VARIABLE)
    # `source` asks the installed bash for its version; its text alone needs no bash.
    click.echo(script.source_template % script.source_vars())
