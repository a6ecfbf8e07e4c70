"""The offer: how many of the tools that are meant a request can hold.

Servers list tools by the hundred; providers refuse a request with more than 128, and each
takes its room in the window of every request. The house's own always stay. What is left out
is decided by the tools alone, so that what was offered can be called a moment later, too.
"""

import json
from collections.abc import Sequence

from askd.core.approval import OF_SERVERS
from askd.providers.base import Model
from askd.tools.base import Tool
from askd.tools.registry import Registry

MOST_TOOLS = 127
"""OpenAI takes 128, and Copilot; one is left for `read_output`, which conversations bring along."""
SHARE = 4
"""Of the budget, the tools of servers get a quarter."""
TOKEN_CHARACTERS = 4
"""Of a description, as JSON; what a model has taught of its counting comes and goes, and a tool
must not go between its request and its call."""


def limit_offer(found: Registry, words: Sequence[str], model: Model | None) -> Registry:
    """Those of the tools that a request can hold; one that is named outright comes first."""
    tools = list(found)
    if not any(OF_SERVERS in tool.name for tool in tools):
        return found
    room = None if model is None else model.limits.budget // SHARE * TOKEN_CHARACTERS
    named = set(words)
    kept: set[str] = set()
    # The order in which they are had is that of the registry: the house's own first.
    for tool in sorted(tools, key=lambda each: (OF_SERVERS in each.name, each.name not in named)):
        if len(kept) == MOST_TOOLS:
            break
        if OF_SERVERS in tool.name and room is not None:
            size = _weigh(tool)
            if size > room:
                continue
            room -= size
        kept.add(tool.name)
    return Registry(tool for tool in tools if tool.name in kept)


def explain_offer(meant: Registry, offered: Registry, model: Model) -> str | None:
    """The sentence for people about what is left out; None: nothing is."""
    whole, part = len(list(meant)), len(list(offered))
    if whole == part:
        return None
    limit = (
        f"a request holds no more than {MOST_TOOLS}"
        if part == MOST_TOOLS
        else f"they would take more than a quarter of the window of {model.name}"
    )
    return (
        f"Of {whole} tools {part} are offered: {limit}. Say which are wanted (-T NAME, "
        '-T "SERVER__*"), or leave some out for good (enabled_tools of a server).'
    )


def _weigh(tool: Tool) -> int:
    """Characters of what a request says of it."""
    return len(json.dumps([tool.name, tool.description, tool.schema], ensure_ascii=False))
