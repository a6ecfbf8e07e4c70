"""A prompt of a chat on its way: read, sent, sent again with its key if the connection is lost.

It blocks, so whoever calls it is no thread that draws. It shows nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from ask.chat.desk import Desk
from ask.commands.calls import Map, start_turn
from ask.connection import ConnectionLost
from ask.fast.caller import make_key
from ask.inputs import attach_mentions

AGAIN_LIMIT_S = 60.0
"""As long may the daemon be away; the key makes sure that it is one prompt."""
AGAIN_PAUSE_S = 0.1


@dataclass(slots=True)
class Sender:
    """Sends prompts of one chat.

    Args:
        expect: told of the key before the prompt is sent.
        mentions: `@path` in a prompt attaches that file.
    """

    desk: Desk
    expect: Callable[[str], None]
    mentions: bool = True

    def send(self, text: str, *, steer: bool = False) -> Map:
        """Send it: the `TurnStartResult`; the conversation is begun by the first.

        `steer`: it joins the turn that runs, if one does.

        Raises:
            Failed: it was refused, what it mentions is missing, or the daemon stays away.
        """
        desk = self.desk
        said, mentioned = attach_mentions(text, quiet=True) if self.mentions else (text, [])
        target = desk.target
        key = make_key()
        self.expect(key)
        deadline = time.monotonic() + AGAIN_LIMIT_S
        while True:
            try:
                accepted = start_turn(
                    desk.caller,
                    target,
                    said,
                    key=key,
                    mentioned=[*mentioned, *desk.attached],
                    options=dict(desk.options),
                    steer=steer,
                )
                break
            except ConnectionLost:
                if time.monotonic() > deadline:
                    raise
                time.sleep(AGAIN_PAUSE_S)
        desk.attached.clear()  # with the next prompt, and with no other
        desk.conversation_id = str(accepted["conversation_id"])
        return accepted
