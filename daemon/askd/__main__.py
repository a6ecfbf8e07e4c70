"""`askd`: the daemon's own command line. People use `ask`; service managers use this."""

import sys

USAGE = """usage: askd run               serve this user until told to stop
       askd check-config      check config.toml and exit
       askd rebuild [DIR]     make the database anew from the rollouts (in DIR) and exit
       askd restore BACKUP    put a backup in the place of the database and exit
       askd version           print the version and exit

rebuild and restore need the daemon to be away (ask daemon stop), and delete nothing:
what they replace is put aside, and they say where. With --look as the first word after
their name they do nothing, and say only what speaks against it.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; answer the exit code: 0, 2 wrong usage or settings, 3, 8, 69, 74."""
    match sys.argv[1:] if arguments is None else arguments:
        case ["run"]:
            from askd.app import run

            return run()
        case ["check-config"]:
            from askd.check import check_config

            return check_config()
        case ["rebuild", "--look", *rest] if len(rest) <= 1:
            from askd.rescue import run_rebuild

            return run_rebuild(rest[0] if rest else None, looks_only=True)
        case ["restore", "--look", backup]:
            from askd.rescue import run_restore

            return run_restore(backup, looks_only=True)
        case ["rebuild", *rest] if len(rest) <= 1 and not "".join(rest).startswith("-"):
            from askd.rescue import run_rebuild

            return run_rebuild(rest[0] if rest else None)
        case ["restore", backup] if not backup.startswith("-"):
            from askd.rescue import run_restore

            return run_restore(backup)
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
