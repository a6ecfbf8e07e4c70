"""The tools that come with the house: all of them, wired to what they need.

Each has its own module and offers its own `make_...`; nothing is decided here.
"""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import replace

from askd.tools.base import Tool
from askd.tools.connections import OUTSIDE, Trust
from askd.tools.files import make_file_tools
from askd.tools.history import SearchHistory, make_search_history
from askd.tools.search import make_search_files
from askd.tools.shell import CommandRules, Confines, make_run_command
from askd.tools.web import make_fetch_url


def make_tools(
    *,
    sandbox: Callable[[], Confines],
    commands: Callable[[], CommandRules],
    search_history: SearchHistory,
    is_offline: Callable[[], bool],
    trust: Trust = ssl.create_default_context,
    own: Sequence[str] = (),
    path: str = "",
) -> list[Tool]:
    """Every tool that there is without a server of tools.

    Args:
        sandbox, commands, is_offline: by the settings of now.
        search_history: looks for words in the user's conversations.
        trust: makes what the certificates of the web are held to.
        own: our own directories and key files, absolute; no tool reads or writes them.
        path: the daemon's own PATH, where programs that help are looked for.
    """
    return [
        *make_file_tools(own),
        make_search_files(sandbox=sandbox, path=path, own=own),
        make_run_command(sandbox=sandbox, rules=commands, own=own),
        make_fetch_url(is_barred=is_offline, way=replace(OUTSIDE, trust=trust)),
        make_search_history(search=search_history),
    ]
