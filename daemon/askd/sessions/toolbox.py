"""The toolbox: which of the daemon's tools a turn's model is offered, and may call.

What is said with the prompt counts, else what its conversation has, else the
settings. It decides nothing about single calls, and knows no tool by name.
"""

from collections.abc import Sequence

import trio

from askd.core.approval import OF_SERVERS
from askd.core.conversation import Conversation
from askd.core.events import TurnOptions
from askd.errors import RequestError
from askd.providers.base import Model
from askd.sessions.elicitations import LentPlace
from askd.sessions.needs import Means, Report
from askd.sessions.offer import explain_offer, limit_offer
from askd.tools.mcp.names import may_mean, names_outright
from askd.tools.registry import ALL, NONE, READ, Registry

SHOWN_WORDS = 5
"""Of the words that mean no tool, and of servers that are waited for; who sent them knows them."""
SHOWN_NAMES = 20
"""Of a server's tools; it may offer hundreds."""
PATIENCE_S = 1.0
"""A wait that is longer is said: somebody may think that the model is slow."""
WAITING = "Waiting for servers of tools to start"


def find_toolbox(
    conversation: Conversation,
    options: TurnOptions,
    means: Means,
    *,
    model: Model | None = None,
) -> Registry:
    """The tools of a turn; none for a model that takes none.

    One that has to be forced to call is offered only what was asked for by a person here: it
    calls for no reason, too.
    """
    words = _find_wanted(conversation, options, means, model=model)
    return limit_offer(means.tools.select(words), words, model)


async def prepare_toolbox(
    conversation: Conversation,
    options: TurnOptions,
    means: Means,
    *,
    model: Model,
    root: str | None,
    report: Report,
) -> None:
    """See that the tools are there that a turn which begins may want, and say which are not.

    Args:
        root: the caller's directory.
    """
    no_tools = explain_no_tools(options, model, means.tools)
    if no_tools is not None:
        report("warning", no_tools)
    words = _find_wanted(conversation, options, means, model=model)
    if set(words) <= {NONE}:
        return
    # In it: what is done if the wait gets long.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_make_way, means, words, report)
        for sentence in await means.prepare(words, root):
            report("warning", sentence)
        nursery.cancel_scope.cancel()
    amiss = _explain_unknown(options, means.tools)  # its server has been heard only now
    if amiss is not None:
        report("warning", amiss)
    meant = means.tools.select(words)
    left_out = explain_offer(meant, limit_offer(meant, words, model), model)
    if left_out is not None:
        report("warning", left_out)


async def _make_way(means: Means, words: Sequence[str], report: Report) -> None:
    """After a moment: say what is waited for, and let another turn run meanwhile."""
    await trio.sleep(PATIENCE_S)
    unheard = [
        each for each in means.tools.find_unlisted() if any(may_mean(word, each) for word in words)
    ]
    more = ", ..." if len(unheard) > SHOWN_WORDS else ""
    names = f": {', '.join(unheard[:SHOWN_WORDS])}{more}" if unheard else "."
    report("waiting", f"{WAITING}{names}")
    with LentPlace(means.turns).lend():
        await trio.sleep_forever()


def _find_wanted(
    conversation: Conversation, options: TurnOptions, means: Means, *, model: Model | None
) -> Sequence[str]:
    """The words that count with this model; empty: it is offered no tools."""
    calling = True if model is None else model.manners.tools
    asked = options.tools if options.tools is not None else conversation.settings.tools
    if not calling or (calling == "schema" and asked is None):
        return ()
    return find_words(conversation, options, means)


def find_words(conversation: Conversation, options: TurnOptions, means: Means) -> Sequence[str]:
    """What says which tools there are: names, patterns and groups; empty: none."""
    if options.toolless:
        return ()
    if options.tools is not None:
        return options.tools
    if conversation.settings.tools is not None:
        return conversation.settings.tools
    return means.toolbox().enabled


def check_words(options: TurnOptions, tools: Registry) -> None:
    """Raise `RequestError` for words of a prompt that mean no tool, with the names there are."""
    amiss = _explain_unknown(options, tools)
    if amiss is not None:
        raise RequestError(amiss, reason="unknown_tool")


def _explain_unknown(options: TurnOptions, tools: Registry) -> str | None:
    unknown = tools.find_unknown(options.tools or ())
    if not unknown:
        return None
    shown = ", ".join(repr(each) for each in unknown[:SHOWN_WORDS])
    there = ", ".join([*_name_tools(tools, unknown), ALL, READ, NONE])
    return f"There is no tool {shown}. There are: {there}."


def _name_tools(tools: Registry, unknown: Sequence[str]) -> list[str]:
    """What there is instead: of a server that is meant what it offers, of others that they do."""
    names = [tool.name for tool in tools]
    found = [each for each in names if OF_SERVERS not in each]
    heads = (each.partition(OF_SERVERS)[0] for each in names if OF_SERVERS in each)
    for server in dict.fromkeys([*heads, *tools.find_servers()]):
        known = [each for each in names if each.startswith(f"{server}{OF_SERVERS}")]
        if any(names_outright(each, server) for each in unknown) and known:
            more = [f"and {len(known) - SHOWN_NAMES} more (ask tools list)"]
            found += known[:SHOWN_NAMES] + (more if len(known) > SHOWN_NAMES else [])
        else:
            found.append(f"{server}{OF_SERVERS}*")
    return found


def explain_no_tools(options: TurnOptions, model: Model, tools: Registry) -> str | None:
    """The sentence for whoever asked for tools with a model that takes none; None: all is well."""
    if model.manners.tools or not options.tools or not list(tools.select(options.tools)):
        return None
    return f"{model.name} takes no tools: it is asked without them."
