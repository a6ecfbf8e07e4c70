"""`ask completion SHELL`: the script that teaches a shell ask's words.

It prints and installs nothing. Names of conversations are asked of a running
daemon when Tab is pressed; none is started for that. Quoting is the shell's own
work, in its script: zsh does it as it is, bash and fish have scripts of ours.
"""

import click
from click.shell_completion import get_completion_class

from ask.commands.help import Command, Example

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ASK_COMPLETE"
"""Set by the script when it asks; `ask` then answers instead of running."""

BASH = r"""
%(complete_func)s() {
    local IFS=$'\n' line value
    COMPREPLY=()
    while IFS= read -r line; do
        value=${line#*,}
        case ${line%%%%,*} in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                # Bash replaces what follows a quote that was opened, and leaves the quote.
                case ${COMP_WORDS[COMP_CWORD]} in
                    \'*) value=${value//\'/\'\\\'\'} ;;
                    \"*)
                        value=${value//\\/\\\\}
                        value=${value//\"/\\\"}
                        value=${value//\$/\\\$}
                        value=${value//\`/\\\`}
                        ;;
                    *) printf -v value %%q "$value" ;;
                esac
                COMPREPLY+=("$value")
                ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \
        %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
"""Unlike click's, it keeps backslashes, expands no pattern, and quotes what has a space."""

FISH = """\
function %(complete_func)s
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) \
COMP_CWORD=(commandline -t) %(prog_name)s)
    for completion in $response
        set -l metadata (string split -m 1 "," -- $completion)
        switch $metadata[1]
            case dir
                __fish_complete_directories $metadata[2]
            case file
                __fish_complete_path $metadata[2]
            case plain
                printf '%%s\\n' $metadata[2]
        end
    end
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""
"""Unlike click's, it takes a name with a comma whole; fish quotes what it inserts."""

SCRIPTS = {"bash": BASH, "fish": FISH}


@click.command(
    "completion",
    cls=Command,
    examples=[
        Example("ask completion bash"),
        Example("mkdir -p ~/.config && ask completion fish > ~/.config/ask.fish"),
    ],
)
@click.argument("shell", metavar="{bash|zsh|fish}", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion_command(context: click.Context, shell: str | None) -> None:
    """Print the completion script of a shell.

    For bash, put this in ~/.bashrc: eval "$(ask completion bash)"
    """
    if shell is None:
        raise click.UsageError("Name the shell: bash, zsh or fish.")
    kind = get_completion_class(shell)
    assert kind is not None, "click knows every shell of SHELLS"
    script = kind(context.find_root().command, {}, "ask", VARIABLE)
    # `source` asks the installed bash for its version; its text alone needs no bash.
    click.echo((SCRIPTS.get(shell, script.source_template) % script.source_vars()).strip())
