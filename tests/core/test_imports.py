"""Files become conversations: whose they are, what is skipped, and that every turn has an end."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.codex_export import CodexExport
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    Renamed,
    Titled,
    TurnFinished,
    TurnStarted,
    encode_body,
)
from askd.core.imports import Empty, Unreadable, drop_names, plan_import
from askd.core.items import AssistantMessage, Blob, Snapshot, Text, UserMessage
from askd.core.pairs import find_faults
from askd.core.portable import JsonExport
from askd.core.records import Json
from askd.store.log import Write
from askd.store.projection import check_write
from tests.core.rollouts import (
    GENUINE,
    NOW,
    assistant,
    context_of,
    folded,
    line,
    name_of,
    output,
    pack,
    plan,
    said,
    user,
)
from tests.core.values import logs


def export(log: list[Event], kind: str, contents: dict[str, bytes] | None = None) -> bytes:
    conversation = fold(log[0].conversation_id, log)
    exporter: Any = (
        JsonExport(conversation) if kind == "json" else CodexExport(conversation, version="9.9")
    )
    written = exporter.begin()
    for event in log:
        written += exporter.feed(event, contents or {})
    return bytes(written + exporter.end())


def make_log(*bodies: Body) -> list[Event]:
    created = ConversationCreated("old", "work", None)
    return [Event("old", seq, 10.0 + seq, b) for seq, b in enumerate([created, *bodies], start=1)]


def turn(turn_id: str = "t", text: str = "go") -> list[Body]:
    return [
        PromptAccepted(turn_id, "k", (UserMessage(f"{turn_id}.0", (Text(text),)),)),
        TurnStarted(turn_id, 1, "openai/gpt-5"),
        ItemAdded(turn_id, AssistantMessage(f"{turn_id}.1", (Text("yes"),)), 1),
        TurnFinished(turn_id, "completed", 0),
    ]


@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_a_genuine_file_cut_anywhere_gives_what_its_whole_lines_hold(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    before = b""
    whole: Any = None
    for number, raw in enumerate(lines, start=1):
        for cut in (1, len(raw) // 2, len(raw) - 2):
            if whole is None:
                with pytest.raises((Unreadable, Empty)):
                    plan(before + raw[:cut])
                continue
            found = plan(before + raw[:cut])
            assert found.timed == whole.timed
            assert [each.number for each in found.skipped] == [number]
        before += raw
        if not any(b'"response_item"' in each for each in lines[:number]):
            with pytest.raises(Empty) as caught:
                plan(before)
            assert path.stem.endswith(caught.value.source_id or "?")
            continue
        whole = plan(before)
        assert whole.skipped == []
        assert plan(before[:-1]).timed == whole.timed
    assert len(said(whole)) > 5


@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_a_genuine_file_can_be_sent_as_it_is(path: Path) -> None:
    found = plan(path.read_bytes())
    conversation = folded(found)
    assert conversation.unfinished == []
    assert conversation.title == "hello there"
    assert conversation.settings.model is None
    context = context_of(found)
    assert find_faults(context.items) == []
    assert ("user", "after compaction") in said(found) or path.stem.endswith("7942f81")
    assert all(at > 1_790_000_000 for at, _ in found.timed)


@given(logs())
def test_our_own_events_come_back_whole_from_both_exports(log: list[Event]) -> None:
    created = Event("c", 1, 1.0, ConversationCreated("c"))
    rest = [each for each in log if not isinstance(each.body, ConversationCreated)]
    log = [created, *[Event("c", n, each.at, each.body) for n, each in enumerate(rest, start=2)]]
    for kind in ("json", "codex"):
        found = plan(export(log, kind))
        assert found.skipped == []
        kept = [encode_body(body) for _, body in found.timed[1 : len(log)]]
        assert found.timed[0] == (1.0, ConversationCreated("C"))
        assert [strip_blobs(each) for each in kept] == [
            strip_blobs(encode_body(lose_copies(event.body))) for event in log[1:]
        ]
        bodies = [body for _, body in found.timed]
        check_write(Write(conversation_id="C", bodies=bodies, create=True))
        assert folded(found).unfinished == []


def lose_copies(body: Body) -> Body:
    """As it comes back: a copy whose content is not in the file is none, and its path is left."""
    match body:
        case ItemAdded(item=Snapshot() as snapshot):
            kept = tuple(each for each in snapshot.copies if not isinstance(each.part, Blob))
            lost = tuple(each.path for each in snapshot.copies if isinstance(each.part, Blob))
            paths = (*snapshot.paths, *lost)
            return replace(body, item=replace(snapshot, copies=kept, paths=paths))
        case _:
            return body


def strip_blobs(value: Json) -> Json:
    """Blobs of these logs have no content, and come back as a sentence."""
    if isinstance(value, dict):
        blank = {"sha256", "bytes", "media_type", "text"}
        is_part = value.get("type") in ("blob", "text")
        kept = {k: v for k, v in value.items() if not (is_part and k in blank)}
        return {k: strip_blobs(v) if not (is_part and k == "type") else "" for k, v in kept.items()}
    if isinstance(value, list):
        return [strip_blobs(each) for each in value]
    return value


@pytest.mark.parametrize("kind", ["json", "codex"])
def test_a_conversation_goes_out_and_comes_back(kind: str) -> None:
    blob = Blob("8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4", 2, "text/plain")
    message = ItemAdded("t", UserMessage("t.x", (blob,)))
    log = make_log(Titled("Greeting"), *turn()[:2], message, *turn()[2:])
    found = plan(export(log, kind, {blob.sha256: b"hi"}))
    assert (found.kind, found.name, found.blobs) == ("ask", "work", {blob.sha256: b"hi"})
    assert [each for each, _ in found.timed] == [event.at for event in log]
    assert [body for _, body in found.timed[1:]] == [event.body for event in log[1:]]


def test_a_turn_that_has_no_end_gets_one() -> None:
    running, waiting = turn("t")[:3], turn("u")[:1]
    found = plan(export(make_log(*running, *waiting), "json"))
    conversation = folded(found)
    assert conversation.unfinished == []
    ends = [record.finished for record in conversation.turns.values()]
    assert [end and end.outcome for end in ends] == ["interrupted", "withdrawn"]


def test_what_codex_added_to_a_rollout_of_ours_follows() -> None:
    ours = export(make_log(*turn()), "codex")
    found = plan(ours + pack(user("and now?"), assistant("still yes")))
    assert said(found) == [
        ("user", "go"),
        ("assistant", "yes"),
        ("user", "and now?"),
        ("assistant", "still yes"),
    ]
    assert found.kind == "ask"


def test_a_rollout_of_ours_without_our_own_lines_is_still_a_rollout() -> None:
    records = [json.loads(raw) for raw in export(make_log(*turn()), "codex").splitlines()]
    found = plan(pack(*[each for each in records if each["type"] != "ask_event"]))
    assert (found.kind, said(found)) == ("codex", [("user", "go"), ("assistant", "yes")])


def test_a_lost_line_of_ours_costs_that_line() -> None:
    lines = export(make_log(*turn("t"), *turn("u", "again")), "json").splitlines(keepends=True)
    codex = export(make_log(*turn("t"), *turn("u", "again")), "codex").splitlines(keepends=True)
    place = next(n for n, raw in enumerate(codex) if b'"seq":4,"at"' in raw)
    broken = b"".join([*codex[:place], codex[place][:50] + b"\n", *codex[place + 1 :]])
    found = plan(broken)
    assert [each.number for each in found.skipped] == [place + 1]
    assert said(found) == [("user", "go"), ("user", "again"), ("assistant", "yes")]
    with pytest.raises(Unreadable, match="line 1: the export is not whole: it is not JSON"):
        plan(b"".join(lines[:-2]))


def test_bad_lines_are_numbered_and_the_rest_is_read() -> None:
    content = b"\x00\x00\n" + pack(user("hi")) + b"\n{torn\n" + pack(assistant("yo"), output("x"))
    found = plan(content + pack(line("response_item", 5)) + b'{"type": "resp')
    assert said(found) == [("user", "hi"), ("assistant", "yo"), ("tool", "done")]
    assert [each.number for each in found.skipped] == [1, 4, 7, 8]
    # The orphan is in the log, and in no request.
    assert [item.id[-2:] for item in context_of(found).items] == [".0", ".1"]


@pytest.mark.parametrize("content", [b"", b"\n \n", pack(line("session_meta", {"id": "X"}))])
def test_a_file_in_which_nobody_says_anything_is_empty(content: bytes) -> None:
    with pytest.raises(Empty) as caught:
        plan(content)
    assert caught.value.source_id == ("X" if content.strip() else None)


def test_a_torn_file_of_ours_in_which_nobody_speaks_yet_is_empty() -> None:
    log = [Event("c", 1, NOW, ConversationCreated("c", name="work"))]
    for kind in ("codex", "json"):
        whole = plan(export(log, kind))
        assert whole.name == "work"  # it waits for its first prompt
    torn = export(log, "codex") + b'{"timestamp":"2026-'
    with pytest.raises(Empty) as caught:
        plan(torn)
    assert caught.value.source_id == "c"
    assert plan(torn + b"\n" + pack(user("hi"))).skipped


def test_a_file_that_cannot_be_read_names_its_first_bad_line() -> None:
    meta = pack(line("session_meta", {"id": "X"}))
    with pytest.raises(Unreadable, match=r"^line 2: it is not JSON: Expecting value \(column 1\)$"):
        plan(meta + b"what is this\nnoise\n")


def test_lines_of_one_turn_each_are_read() -> None:
    items = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    found = plan(pack({"timestamp": "2026-01-02T03:04:05Z", "items": items, "metadata": {}}))
    assert said(found) == [("user", "hi"), ("assistant", "yo")]


def test_what_does_not_say_when_it_happened_happened_now() -> None:
    found = plan(pack({"items": [{"role": "user", "content": "hi"}]}))
    assert {at for at, _ in found.timed} == {NOW}


def test_a_title_is_found_in_the_first_words() -> None:
    named = UserMessage("t.0", (Text("long file", "notes.txt"), Text("sum it up")))
    log = make_log(PromptAccepted("t", "k", (named,)), *turn()[1:])
    assert folded(plan(export(log, "json"))).title == "sum it up"
    silent = plan(pack(output("x")))
    assert folded(silent).title is None


def test_a_blob_whose_content_is_not_in_the_file_is_named() -> None:
    message = UserMessage("t.0", (Blob("d", 9, "image/png"),))
    found = plan(export(make_log(PromptAccepted("t", "k", (message,)), *turn()[1:]), "json"))
    assert said(found)[0] == ("user", "[image/png, 9 bytes, not in the file]")
    assert found.blobs == {}


def test_events_come_once_in_order_and_never_create_twice() -> None:
    records = [json.loads(raw) for raw in export(make_log(*turn()), "codex").splitlines()]
    events = [each for each in records if each["type"] == "ask_event"]
    again = {**events[0], "payload": {**events[0]["payload"], "seq": 9}}
    found = plan(pack(*reversed(events), *events, again))
    assert [body.TYPE for _, body in found.timed][:3] == [
        "conversation_created",
        "prompt_accepted",
        "turn_started",
    ]
    assert len(found.timed) == len(events) + 1  # and a title
    headless = plan(pack(*events[1:]))
    assert headless.timed[0] == (12.0, ConversationCreated("C"))


def test_names_can_be_dropped() -> None:
    found = plan(export(make_log(Renamed("play"), *turn()), "json"))
    assert found.name == "play"
    conversation = fold(
        "C", [Event("C", n, at, b) for n, (at, b) in enumerate(drop_names(found.timed), start=1)]
    )
    assert conversation.name is None


@given(st.binary(max_size=200))
def test_any_bytes_are_a_conversation_or_a_sentence(content: bytes) -> None:
    try:
        plan_import(content, conversation_id="C", new_id=lambda: "i", at=NOW)
    except (Empty, Unreadable):
        return
