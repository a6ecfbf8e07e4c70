"""The entry: the short way where the words are plain, click for all else.

It imports `sys` alone before it has looked at the words.
"""

import sys


def main() -> None:
    """Run the process's command line; the console script's entry. Does not return."""
    import os

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


def _run_fast(arguments: list[str]) -> object:
    """The exit code, or what the long way goes on from (None: nothing was done)."""
    from os import environ

    if "_ASK_COMPLETE" in environ:
        return None
    from ask.fast import argv

    as_json = argv.read_status(arguments)
    if as_json is not None:
        from ask.fast import status

        return status.run_status(environ, as_json=as_json)
    words = argv.read_prompt(arguments)
    if words is None:
        return None
    from ask.fast.run import run_prompt

    return run_prompt(words, environ)


if __name__ == "__main__":
    main()
