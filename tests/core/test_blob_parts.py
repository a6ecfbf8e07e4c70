"""Blobs are found, and stood in for, wherever parts are."""

from askd.core.blob_parts import find_blobs, name_missing
from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    PromptSteered,
    ViewChanged,
)
from askd.core.items import (
    AssistantMessage,
    Blob,
    Copy,
    Notice,
    Part,
    Snapshot,
    Summary,
    Text,
    ToolOutput,
    UserMessage,
)


def blob(sha256: str) -> Blob:
    return Blob(sha256, 3, "text/plain", "notes.txt")


def test_digests_are_found_wherever_parts_are() -> None:
    parts: tuple[Part, ...] = (Text("x"), blob("a"))
    bodies: list[Body] = [
        ConversationCreated("c"),
        PromptAccepted("t", "k", (UserMessage("i", parts), UserMessage("j", (blob("b"),)))),
        ItemAdded("t", AssistantMessage("m", (blob("c"), blob("a")))),
        ItemAdded("t", ToolOutput("o", "call", "read", (blob("d"),))),
        ItemAdded(None, UserMessage("u", (blob("e"),))),
        ItemAdded(None, Notice("n", "x")),
        PromptSteered("t", "k", (UserMessage("s", (blob("f"),)),)),
    ]
    assert find_blobs(bodies) == ["a", "b", "c", "d", "e", "f"]


def test_a_missing_blob_becomes_a_sentence_and_a_known_one_stays() -> None:
    gone = Text("[text/plain, 3 bytes, not in the file]", "notes.txt")
    bodies: list[Body] = [
        PromptAccepted("t", "k", (UserMessage("i", (blob("a"), blob("b"))),)),
        ItemAdded("t", AssistantMessage("m", (blob("b"),))),
        ItemAdded("t", ToolOutput("o", "call", "read", (blob("b"), Text("x")))),
    ]
    prompt, answer, output = [name_missing(body, {"a"}) for body in bodies]
    assert prompt == PromptAccepted("t", "k", (UserMessage("i", (blob("a"), gone)),))
    assert answer == ItemAdded("t", AssistantMessage("m", (gone,)))
    assert output == ItemAdded("t", ToolOutput("o", "call", "read", (gone, Text("x"))))
    for body in [*bodies, ConversationCreated("c"), ItemAdded(None, Notice("n", "x"))]:
        assert name_missing(body, {"a", "b"}) is body


def test_blobs_of_what_was_kept_in_front_of_a_view() -> None:
    content = blob("ab")
    change = ViewChanged("v", "compact", kept=(UserMessage("m", (content,)), Summary("s", "x")))
    assert find_blobs([change]) == ["ab"]
    named = name_missing(change, {})
    assert isinstance(named, ViewChanged)
    assert find_blobs([named]) == []
    assert named.kept[1] == Summary("s", "x")


def test_blobs_of_what_is_seen_of_an_output() -> None:
    output = ToolOutput("o", "call", "draw", (Text("in short"), blob("ab")))
    change = ViewChanged("v", "shorten", shortened=(output,))
    assert find_blobs([change]) == ["ab"]
    named = name_missing(change, {})
    assert isinstance(named, ViewChanged)
    assert find_blobs([named]) == []
    assert named.shortened[0].parts[0] == Text("in short")


def test_blobs_of_copies_of_files() -> None:
    copies = (Copy("kept", blob("a")), Copy("lost", blob("b")), Copy("made"), Copy("t", Text("x")))
    body = ItemAdded("t", Snapshot("s", "/w", "", paths=("large",), copies=copies))
    assert find_blobs([body]) == ["a", "b"]
    assert name_missing(body, {"a", "b"}) is body
    named = name_missing(body, {"a"})
    assert isinstance(named, ItemAdded)
    assert isinstance(named.item, Snapshot)
    # A sentence in place of a content would be put back as the file.
    assert named.item.copies == (copies[0], copies[2], copies[3])
    assert named.item.paths == ("large", "lost")
