"""The tools that there are, what the settings say of each, and what confines commands."""

from ask.protocol.messages import ToolConfinement, ToolList, ToolPage, ToolRecord
from askd.core.approval import find_tool_rule
from askd.core.conversation import Conversation
from askd.core.events import TurnOptions
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.toolbox import find_words

LISTED_CHARACTERS = 160_000
"""Of all descriptions together: servers describe hundreds of tools, and a page is one message."""
NOWHERE = Conversation("")
"""For a listing that is about no conversation: the settings alone count."""


async def list_all(house: House, peer: Peer, params: ToolList) -> ToolPage:
    """Every tool, offered or not. The first call looks for a sandbox, which takes a moment."""
    means = house.sessions.means
    conversation = NOWHERE
    if params.conversation_id is not None:
        conversation = (await house.sessions.get(params.conversation_id)).conversation
    tools = list(means.tools)
    room = LISTED_CHARACTERS // max(len(tools), 1)
    words = list(find_words(conversation, TurnOptions(), means))
    offered = means.tools.select(words)
    rules = means.approval()
    kind, sentence = await house.find_confinement()
    return ToolPage(
        data=[
            ToolRecord(
                name=each.name,
                description=each.description[:room],
                effects=each.effects,
                needs=each.needs,
                policy=find_tool_rule(each.name, rules.tools),
                enabled=each.name in offered,
            )
            for each in tools
        ],
        enabled=words,
        enabled_by="settings" if conversation.settings.tools is None else "conversation",
        confinement=ToolConfinement(kind=kind, text=sentence),
        policy=rules.policy,
        tools=dict(rules.tools),
        commands=dict(rules.commands),
        servers=means.tools.find_servers(),
    )
