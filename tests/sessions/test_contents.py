"""What the blobs of a context become."""

from dataclasses import replace

import pytest

from askd.core.items import AssistantMessage, Blob, Item, Notice, Text, UserMessage
from askd.errors import NotFound, Refused
from askd.providers.base import Limits, Manners, Model
from askd.sessions.contents import (
    Contents,
    explain_blindness,
    has_images,
    hide_images,
    resolve_blobs,
)

STORED = {"note": "café".encode(), "cat": b"\x89PNG", "junk": b"\xff\xfe"}
NOTES = Blob("note", 5, "text/plain", "notes.txt")
CAT = Blob("cat", 4, "image/png", "cat.png")
MODEL = Model(
    name="test/small",
    provider="test",
    dialect="openai-chat",
    limits=Limits(context_window=1000, reserved_output=100),
)
BLIND = replace(MODEL, manners=Manners(images=False))


async def read(sha256: str) -> bytes:
    if sha256 not in STORED:
        raise NotFound("no such blob", reason="blob_not_found")
    return STORED[sha256]


async def resolve(*items: Item, model: Model = MODEL, asked: str = "u") -> Contents:
    return await resolve_blobs(items, read, model=model, asked={asked})


async def test_texts_are_read_and_keep_their_names() -> None:
    spoken = UserMessage("u", (Text("see"), NOTES))
    heard = AssistantMessage("a", (Text("yes"),))
    notice = Notice("n", "/models")
    assert await resolve(spoken, heard, notice) == Contents(
        [UserMessage("u", (Text("see"), Text("café", "notes.txt"))), heard, notice]
    )
    with pytest.raises(NotFound):
        await resolve(UserMessage("u", (Blob("other", 1, "text/plain"),)))


@pytest.mark.parametrize("can_see", [None, True])
async def test_images_stay_with_their_content_beside_them(can_see: bool | None) -> None:
    spoken = UserMessage("u", (CAT, Text("what?")))
    model = replace(MODEL, manners=Manners(images=can_see))
    assert await resolve(spoken, model=model) == Contents([spoken], {"cat": b"\x89PNG"})


async def test_what_is_no_text_is_refused_by_name() -> None:
    with pytest.raises(Refused, match=r"An attachment is no text \(application/pdf\)"):
        await resolve(UserMessage("u", (Blob("junk", 2, "application/pdf"),)))


@pytest.mark.parametrize(
    "blob",
    [
        Blob("junk", 2, "application/pdf"),
        Blob("gone", 2, "text/plain", "notes.txt"),
        Blob("gone", 2, "image/png"),
    ],
)
async def test_what_is_lost_or_no_text_does_not_keep_a_conversation_from_going_on(
    blob: Blob,
) -> None:
    spoken = UserMessage("u", (blob, Text("what?")))
    with pytest.raises((Refused, NotFound)):
        await resolve(spoken)
    named = Text(f"[{blob.media_type}, 2 bytes, not shown]", blob.name)
    assert await resolve(spoken, asked="later") == Contents(
        [UserMessage("u", (named, Text("what?")))]
    )


async def test_a_model_that_cannot_see() -> None:
    spoken = UserMessage("u", (CAT, Text("what?")))
    with pytest.raises(Refused, match=r"test/small cannot see images\."):
        await resolve(spoken, model=BLIND)
    named = UserMessage("u", (Text("[image/png, 4 bytes, not shown]", "cat.png"), Text("what?")))
    assert await resolve(spoken, model=BLIND, asked="later") == Contents([named])


def test_images_among_parts() -> None:
    assert has_images((Text("x"), CAT))
    assert not has_images((Text("x"), NOTES))
    assert not has_images((Blob("s", 1, "image/svg+xml"),))


def test_the_sentence_says_what_to_do() -> None:
    assert '[models."test/small"]' in explain_blindness(MODEL)


async def test_what_is_hidden_is_what_a_model_that_cannot_see_gets() -> None:
    items: list[Item] = [
        UserMessage("u", (Text("see"), CAT)),
        UserMessage("v", (NOTES,)),
        Notice("n", "/x"),
    ]
    hidden = hide_images(items, BLIND)
    sent = (await resolve(*items, model=BLIND, asked="none")).items
    assert (hidden[0], hidden[2]) == (sent[0], sent[2])
    assert hidden[1] is items[1], "of other content nothing is read"
    assert hide_images(items, MODEL) == hide_images(items, None) == items
