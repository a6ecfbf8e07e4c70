"""`askd check-config`: whether the settings' file is good, said in one line.

It reads and changes nothing; a daemon that runs hears nothing of it.
"""

import sys

from askd.config import read_environment, read_settings
from askd.core import outcome
from askd.errors import AskdError


def check_config() -> int:
    """Answer 0 if the settings are good, else 2 and one sentence."""
    environment = read_environment()
    try:
        read_settings(environment.paths.config_file)
    except AskdError as error:
        print(f"askd: {error.message}", file=sys.stderr)
        return error.code
    print(f"{environment.paths.config_file}: ok")
    return outcome.DONE
