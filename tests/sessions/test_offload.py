"""Large parts become blobs, and every event stays small enough."""

import hashlib
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from askd.core.events import (
    Event,
    ItemAdded,
    PromptAccepted,
    PromptSteered,
    Renamed,
    ViewChanged,
)
from askd.core.items import (
    PART_LIMIT_BYTES,
    AssistantMessage,
    Blob,
    Copy,
    Notice,
    Part,
    Reasoning,
    Snapshot,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.server.fitting import fit_event
from askd.sessions.offload import (
    EVENT_LIMIT_BYTES,
    Blobs,
    offload_bodies,
    offload_body,
    offload_parts,
)

LARGE = "ä" * (PART_LIMIT_BYTES // 2) + "b"  # one byte over the limit


def restore(parts: tuple[Part, ...], blobs: Blobs) -> list[tuple[str, str | None]]:
    """What the parts say, blobs read back."""
    return [
        (
            blobs[part.sha256].decode() if isinstance(part, Blob) else part.text,
            part.name,
        )
        for part in parts
    ]


def test_a_part_at_the_limit_stays_and_one_byte_more_is_a_blob() -> None:
    blobs: Blobs = {}
    fits = Text("x" * PART_LIMIT_BYTES)
    assert offload_parts((fits,), blobs) == (fits,)
    assert blobs == {}
    (moved,) = offload_parts((Text(LARGE, "stdin"),), blobs)
    content = LARGE.encode()
    digest = hashlib.sha256(content).hexdigest()
    assert moved == Blob(digest, len(content), "text/plain", "stdin")
    assert blobs == {digest: content}


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from("aé€"), st.integers(0, PART_LIMIT_BYTES // 2)),
        max_size=12,
    )
)
def test_the_rest_fits_and_nothing_is_lost(shapes: list[tuple[str, int]]) -> None:
    parts = tuple(Text(letter * count, str(n)) for n, (letter, count) in enumerate(shapes))
    blobs: Blobs = {}
    kept = offload_parts(parts, blobs)
    texts = [part.text.encode() for part in kept if isinstance(part, Text)]
    assert sum(map(len, texts)) <= EVENT_LIMIT_BYTES
    assert all(len(text) <= PART_LIMIT_BYTES for text in texts)
    assert restore(kept, blobs) == [(part.text, part.name) for part in parts]


def test_no_more_is_moved_than_must_be() -> None:
    parts = tuple(Text("x" * 200_000) for _ in range(4))  # 800,000 bytes: one has to go
    kept = offload_parts(parts, {})
    assert sum(isinstance(part, Blob) for part in kept) == 1


def test_every_body_with_parts_is_looked_at() -> None:
    prompt = PromptAccepted("t", "k", (UserMessage("t.0", (Text(LARGE),)),))
    answer = ItemAdded("t", AssistantMessage("t.1", (Text(LARGE), Text("short"))), 1)
    output = ItemAdded("t", ToolOutput("t.1.1", "call", "f", (Text(LARGE),)), 1)
    steering = PromptSteered("t", "k", (UserMessage("s", (Text(LARGE),)),))
    lean, blobs = offload_bodies([prompt, answer, output, steering])
    assert len(blobs) == 1  # the same content is kept once
    assert lean[0].items[0].parts[0].sha256 in blobs  # type: ignore[union-attr]
    assert [type(part) for part in lean[1].item.parts] == [Blob, Text]  # type: ignore[union-attr]
    assert isinstance(lean[2].item.parts[0], Blob)  # type: ignore[union-attr]
    assert isinstance(lean[3].items[0].parts[0], Blob)  # type: ignore[union-attr]


def test_copies_of_files_are_looked_at() -> None:
    copies = (Copy("a", Text(LARGE), 0o600), Copy("made"), Copy("small", Text("x")))
    snapshot = Snapshot("s", "/w", "", copies=copies)
    lean, blobs = offload_body(ItemAdded("t", snapshot))
    assert isinstance(lean, ItemAdded)
    assert isinstance(lean.item, Snapshot)
    (large, *rest) = lean.item.copies
    assert isinstance(large.part, Blob)
    assert (large.path, large.mode, blobs[large.part.sha256]) == ("a", 0o600, LARGE.encode())
    assert rest == [*copies[1:]]
    alone = ItemAdded("t", Snapshot("s", "/w", "c0ffee"))
    assert offload_body(alone) == (alone, {})


def test_what_has_no_large_part_stays_as_it_is() -> None:
    for body in (
        Renamed("x"),
        ItemAdded("t", AssistantMessage("t.1", (Text("hi"),), (Reasoning("hm"),)), 1),
        ItemAdded(None, Notice("n", "hello")),
    ):
        assert offload_body(body) == (body, {})


def test_endless_thoughts_are_cut_in_the_middle_and_say_so() -> None:
    thoughts = Reasoning("a" * PART_LIMIT_BYTES + "€" * PART_LIMIT_BYTES)
    body, blobs = offload_body(ItemAdded("t", AssistantMessage("t.1", (), (thoughts,)), 1))
    assert blobs == {}
    assert isinstance(body, ItemAdded)
    assert isinstance(body.item, AssistantMessage)
    (kept,) = body.item.reasoning
    head, _, tail = kept.text.partition("\n[... ")
    count, _, tail = tail.partition(" characters truncated ...]\n")
    assert set(head) == {"a"}
    assert set(tail) == {"€"}
    assert len(head) + len(tail) + int(count) == len(thoughts.text)
    assert len(kept.text.encode()) <= PART_LIMIT_BYTES + 100


def test_long_thoughts_that_fit_are_kept_whole() -> None:
    thoughts = Reasoning("a" * (PART_LIMIT_BYTES - 1))
    body, _ = offload_body(ItemAdded("t", AssistantMessage("t.1", (), (thoughts,)), 1))
    assert isinstance(body, ItemAdded)
    assert isinstance(body.item, AssistantMessage)
    assert body.item.reasoning == (thoughts,)


def test_half_a_character_does_not_stop_a_message_from_being_stored() -> None:
    blobs: Blobs = {}
    offload_parts((Text("\ud800" * PART_LIMIT_BYTES + "x"),), blobs)
    assert next(iter(blobs.values())) == b"?" * PART_LIMIT_BYTES + b"x"


def test_what_is_seen_of_a_huge_output_may_be_large_itself() -> None:
    outputs = tuple(
        ToolOutput(f"o{k}", f"call_{k}", "read", (Text(LARGE), Text("small"))) for k in range(4)
    )
    body, blobs = offload_body(ViewChanged("v", "shorten", shortened=outputs))
    assert isinstance(body, ViewChanged)
    assert [[type(part) for part in each.parts] for each in body.shortened] == [[Blob, Text]] * 4
    assert list(blobs.values()) == [LARGE.encode()]
    small = ViewChanged("v", "compact")
    assert offload_body(small) == (small, {})


def test_calls_and_thoughts_take_their_room_from_the_text_beside_them() -> None:
    call = ToolCall("c", "write_file", "a" * 256 * 1024)
    item = AssistantMessage(
        "t.1",
        parts=(Text("b" * 200_000), Text("c" * 100_000)),
        reasoning=(Reasoning("d" * 250_000),),
        calls=(call, replace(call, call_id="c2")),
    )
    body, blobs = offload_body(ItemAdded("t", item))
    assert isinstance(body, ItemAdded)
    lean = body.item
    assert isinstance(lean, AssistantMessage)
    assert lean.calls == item.calls
    assert [type(part) for part in lean.parts] == [Blob, Blob]
    assert restore(lean.parts, blobs) == [("b" * 200_000, None), ("c" * 100_000, None)]
    assert fit_event(Event("c", 1, 0.0, body)).size < EVENT_LIMIT_BYTES + 50_000
    assert "left_out" not in fit_event(Event("c", 1, 0.0, body)).value
