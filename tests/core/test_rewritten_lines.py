"""Rollouts are rewritten line by line: what is ours is read back, what is torn stays."""

import hashlib
import json

from askd.core.event_lines import decode_blob, decode_event
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Blob, Text, ToolCall, UserMessage
from askd.core.rewritten_lines import scrub_lines
from askd.core.rollout import RolloutWriter
from askd.core.rollout_lines import encode_line
from askd.core.scrubbing import MARK, Scrub
from tests.core.rollouts import GENUINE

SECRET = 'p"s\\w\nörd'
LONG = f"a file with {SECRET} in it".encode()
DIGEST = hashlib.sha256(LONG).hexdigest()


def write() -> bytes:
    """A conversation as the mirror has it."""
    parts = (Text(f"say {SECRET}"), Blob(DIGEST, len(LONG), "text/plain"))
    call = ToolCall("call_1", "look", json.dumps({"q": SECRET}))
    bodies: list[Body] = [
        ConversationCreated("c"),
        PromptAccepted("t", "k", (UserMessage("t.0", parts),)),
        TurnStarted("t", 1, "p/m"),
        ItemAdded("t", AssistantMessage("t.1", (Text("yes"),), calls=(call,))),
    ]
    writer = RolloutWriter("c", provider="p", version="1")
    lines = b""
    for seq, body in enumerate(bodies, 1):
        contents = {DIGEST: LONG} if seq == 2 else {}
        for record in writer.feed(Event("c", seq, 1.0, body), contents):
            lines += encode_line(record)
    return lines


def test_what_is_ours_is_rewritten_whole_and_can_be_read_back() -> None:
    scrub = Scrub([SECRET])
    before = write()
    after = scrub_lines(before, scrub)
    assert scrub.stands_in_bytes(before)
    assert not scrub.stands_in_bytes(after)
    records = [json.loads(line) for line in after.splitlines()]
    assert [each["type"] for each in records] == [
        json.loads(line)["type"] for line in before.splitlines()
    ]
    (blob,) = [decode_blob(each["payload"]) for each in records if each["type"] == "ask_blob"]
    assert blob[1] == f"a file with {MARK} in it".encode()
    events = [decode_event("c", e["payload"]) for e in records if e["type"] == "ask_event"]
    prompt, answer = events[1].body, events[3].body
    assert isinstance(prompt, PromptAccepted)
    assert prompt.items[0].parts == (Text(f"say {MARK}"), Blob(*_facts(blob[1]), "text/plain"))
    assert isinstance(answer, ItemAdded)
    assert isinstance(answer.item, AssistantMessage)
    assert json.loads(answer.item.calls[0].arguments) == {"q": MARK}
    assert scrub_lines(after, scrub) == after


def _facts(content: bytes) -> tuple[str, int]:
    return hashlib.sha256(content).hexdigest(), len(content)


def test_files_of_codex_without_it_stay_byte_for_byte() -> None:
    for path in GENUINE:
        content = path.read_bytes()
        assert scrub_lines(content, Scrub(["no such secret"])) == content


def test_torn_and_foreign_lines() -> None:
    scrub = Scrub(["hunter22"])
    lines = [b"hunter22, no JSON", b'["hunter22"]', b'{"type":"x","text":"hunter22', b"\xff", b""]
    after = scrub_lines(b"\n".join(lines), scrub).split(b"\n")
    assert len(after) == len(lines)
    assert not scrub.stands_in_bytes(b"\n".join(after))
    assert after[3:] == lines[3:]
    foreign = b'{"type":"message","payload":{"id":"i","call_id":"hunter22","text":"hunter22"}}'
    assert json.loads(scrub_lines(foreign, scrub)) == {
        "type": "message",
        "payload": {"id": "i", "call_id": "scrubbed", "text": MARK},
    }
    bad = b'{"type":"ask_blob","payload":{"base64":"hunter22"}}'
    assert json.loads(scrub_lines(bad, scrub))["payload"] == {"base64": MARK}
