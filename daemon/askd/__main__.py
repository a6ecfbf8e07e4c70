"""`askd`: the daemon's own command line. People use `ask`; service managers use this."""

import sys

USAGE = """usage: askd run            serve this user until told to stop
       askd check-config   check config.toml and exit
       askd version        print the version and exit
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; answer the exit code: 0, 2 wrong usage or settings, 69, 74."""
    match sys.argv[1:] if arguments is None else arguments:
        case ["run"]:
            from askd.app import run

            return run()
        case ["check-config"]:
            from askd.app import check_config

            return check_config()
        case ["version"]:
            from askd import __version__

            print(f"askd {__version__}")
            return 0
        case ["--help" | "-h"]:
            print(USAGE, end="")
            return 0
        case _:
            print(USAGE, end="", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
