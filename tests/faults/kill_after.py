"""The next request of each dialect: what a kill has met is gone on with, once by every vendor.

Every conversation with a turn that a kill has ended or begun anew, and every one whose model has
called a tool, is sent one prompt more for each dialect. The vendor's server has to be asked, may
refuse nothing, and has to be shown every prompt that was ever accepted there.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ask.connection import Client
from askd.providers.base import Dialect
from tests.faults.kill_house import House
from tests.faults.kill_model import AFTER, DIALECTS, MARK, Model
from tests.faults.kill_writers import TOOLS, Acknowledged, make_prompt, send, wait

AT_ONCE = 16
"""So many conversations are gone on with at once."""
HURT = (
    "SELECT DISTINCT conversation_id FROM events WHERE"
    " type = 'turn_finished' AND json_extract(body, '$.outcome') = 'interrupted'"
    " OR type = 'turn_started' AND json_extract(body, '$.attempt') > 1"
    " ORDER BY conversation_id"
)
CALLED = (
    "SELECT DISTINCT conversation_id FROM events WHERE"
    " type = 'item_added' AND json_extract(body, '$.item.type') = 'tool_output'"
)


@dataclass(frozen=True, slots=True)
class Next:
    """One prompt after all kills, and which dialect it went to."""

    dialect: Dialect
    prompt: Acknowledged


def list_hurt(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """The conversations whose turns kills have met; and others, whose model has called tools."""
    hurt = [id for (id,) in connection.execute(HURT)]
    called = [id for (id,) in connection.execute(CALLED)]
    return hurt, sorted({*called} - {*hurt})


def go_on(house: House, ids: Sequence[str]) -> list[Next]:
    """Send the prompts, to the end of their turns. Which dialect is first is another each time."""

    def go(part: int) -> list[Next]:
        done = []
        with Client.connect(house.world.env, start=False) as client:
            for number, id in list(enumerate(ids))[part::AT_ONCE]:
                for place in range(len(DIALECTS)):
                    dialect = DIALECTS[(number + place) % len(DIALECTS)]
                    mark = f"{AFTER}.{number * len(DIALECTS) + place + 1}"
                    options = {**TOOLS, "model": f"at-{dialect}/fake"}
                    target = {"kind": "id", "value": id}
                    prompt = make_prompt(mark, "and now", target, options, house.project)
                    accepted = send(client, prompt)
                    wait(client, accepted)
                    done.append(Next(dialect, accepted))
        return done

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [each for part in pool.map(go, range(AT_ONCE)) for each in part]


def judge_next(
    nexts: Sequence[Next], models: Sequence[Model], logs: Mapping[str, list[dict[str, Any]]]
) -> Iterator[str]:
    """Each of them was asked for in its dialect, shown all, and answered."""
    seen = {model.dialect: model.seen for model in models}
    for each in nexts:
        mark, log = each.prompt.mark, logs[each.prompt.conversation_id]
        shown = seen[each.dialect].get(mark)
        if shown is None:
            yield f"{mark}: {each.dialect} was never asked"
            continue
        ends = [
            event["body"]["outcome"]
            for event in log
            if event["type"] == "turn_finished" and event["body"]["turn_id"] == each.prompt.turn_id
        ]
        if ends != ["completed"]:
            yield f"{mark}: {each.dialect} was asked, and its turn has these ends: {ends}"
        if any(event["type"] == "view_changed" for event in log):
            continue  # a summary stands for the earlier ones
        said = list(list_marks(log))
        said = said[: said.index(mark) + 1]
        if shown != said:
            yield f"{mark}: {each.dialect} was shown {shown} of {said}"


def list_marks(log: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The marks of a conversation's prompts, in their order."""
    for event in log:
        if event["type"] == "prompt_accepted":
            for found in MARK.findall(json.dumps(event["body"]["items"])):
                yield ".".join(found)
