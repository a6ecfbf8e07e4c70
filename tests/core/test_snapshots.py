"""Which snapshots a conversation has, and what its copies say of an earlier moment."""

from askd.core.conversation import Conversation
from askd.core.events import Body, Event, ItemAdded, PromptAccepted
from askd.core.items import Copy, Notice, Snapshot
from askd.core.snapshots import find_files, find_snapshots


def snapshot(
    id: str, at: float | None, *copies: Copy, top: str = "/w", commit: str = ""
) -> Snapshot:
    return Snapshot(id, top, commit, at=at, copies=copies)


def talk(*items: tuple[str | None, Snapshot | Notice]) -> Conversation:
    bodies: list[Body] = [PromptAccepted("t", "k", ())]
    bodies += [ItemAdded(turn, item) for turn, item in items]
    conversation = Conversation("c")
    for seq, body in enumerate(bodies, 1):
        conversation.apply(Event("c", seq, 1.0, body))
    return conversation


def test_the_newest_first_in_turns_and_outside() -> None:
    conversation = talk(
        ("t", snapshot("a", 1.0)),
        (None, snapshot("b", 3.0)),
        (None, Notice("n", "said")),
        ("t", snapshot("c", 2.0)),
        ("t", snapshot("d", None)),
    )
    assert [each.id for each in find_snapshots(conversation)] == ["b", "c", "a", "d"]


def test_of_two_of_one_moment_the_later_is_the_newer() -> None:
    conversation = talk(("t", snapshot("a", 1.0)), ("t", snapshot("b", 1.0)))
    assert [each.id for each in find_snapshots(conversation)] == ["b", "a"]


def test_a_file_was_what_its_first_copy_since_says() -> None:
    first = snapshot("1", 1.0, Copy("a", mode=0o600))
    second = snapshot("2", 2.0, Copy("a", mode=0o644), Copy("b", mode=0o755))
    elsewhere = snapshot("3", 3.0, Copy("c"), top="/other")
    in_git = snapshot("4", 4.0, commit="0" * 40)
    third = snapshot("5", 5.0, Copy("b", mode=0o600), Copy("d"))
    everything = [third, in_git, elsewhere, second, first]
    assert find_files(everything, first) == [
        Copy("a", mode=0o600),
        Copy("b", mode=0o755),
        Copy("d"),
    ]
    assert find_files(everything, second) == [
        Copy("a", mode=0o644),
        Copy("b", mode=0o755),
        Copy("d"),
    ]
    assert find_files(everything, third) == [Copy("b", mode=0o600), Copy("d")]
