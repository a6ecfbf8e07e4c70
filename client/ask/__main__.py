"""The entry: the short way where the words are plain, click for all else.

It imports `sys` alone before it has looked at the words.
"""

import sys

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from types import ModuleType


def main() -> None:
    """Run the process's command line; the console script's entry. Does not return."""
    import os

    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _hold_descriptors(os)
    try:
        result = _run_fast(sys.argv[1:])
        if isinstance(result, int):
            # Nothing is buffered and nothing needs an orderly end, which would cost 3 ms.
            os._exit(result)
        from ask.commands.root import main as run

        code = run(carried=result)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _hold_descriptors(os: "ModuleType") -> None:
    """Put something where the caller closed an output, or the next socket would take its number.

    Standard output is not writable then: an answer that nobody gets is no success.
    """
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            null = os.open("/dev/null", os.O_WRONLY if number == 2 else os.O_RDONLY)
            if null != number:
                os.dup2(null, number)
                os.close(null)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _run_fast(arguments: list[str]) -> object:
    """The exit code, or what the long way goes on from (None: nothing was done)."""
    from os import environ

    if "_ASK_COMPLETE" in environ:
        from ask.completion.answer import answer_shell

        return answer_shell(environ, arguments)
    from ask.fast import argv

    if arguments and arguments[0] == "dial-stdio":
        from ask.fast.dial import run_dial

        return run_dial(arguments, environ)
    if environ.get("ASK_HOST"):
        return None  # another machine's daemon is reached the long way
    as_json = argv.read_status(arguments)
    if as_json is not None:
        from ask.fast import status

        return status.run_status(environ, as_json=as_json)
    search = argv.read_search(arguments)
    if search is not None:
        from ask.fast.search import run_search

        return run_search(search, environ)
    words = argv.read_prompt(arguments)
    if words is None:
        return None
    from ask.fast.run import run_prompt

    return run_prompt(words, environ)


if __name__ == "__main__":
    main()
