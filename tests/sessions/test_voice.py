"""What a turn says before it has started is heard when it has, in its order."""

from askd.sessions.hub import Delta, Hub, Progress
from askd.sessions.live import LiveSession
from askd.sessions.voice import Voice
from tests.fakes.log import FakeStore
from tests.fakes.sessions import Watcher, encode


def watch() -> tuple[Voice, Watcher]:
    session = LiveSession("c", log=FakeStore(), hub=Hub(encode), ephemeral=False)
    watcher = Watcher()
    session.subscribe(watcher)
    return Voice(session, "t"), watcher


def said(watcher: Watcher) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in watcher.values if isinstance(each, Progress)]


async def test_what_is_told_too_soon_is_said_when_it_may_be() -> None:
    voice, watcher = watch()
    voice.tell("warning", "one")
    voice.tell("waiting", "two")
    assert said(watcher) == []
    voice.speak()
    voice.tell("warning", "three")
    assert said(watcher) == [("warning", "one"), ("waiting", "two"), ("warning", "three")]
    (first, *_) = (each for each in watcher.values if isinstance(each, Progress))
    assert (first.conversation_id, first.turn_id) == ("c", "t")


async def test_who_waits_to_speak_is_told_when_it_may_and_waits_anew_after_a_hush() -> None:
    voice, watcher = watch()
    may_speak = voice.hush()
    voice.speak()
    assert may_speak.is_set()
    again = voice.hush()
    voice.tell("warning", "held")
    assert not again.is_set()
    assert said(watcher) == []
    voice.speak()
    assert again.is_set()
    assert said(watcher) == [("warning", "held")]


async def test_words_that_come_too_soon_are_said_in_their_place_when_they_may_be() -> None:
    voice, watcher = watch()
    voice.tell("warning", "one")
    voice.say("t.1", "text", "Hel")
    voice.say("t.1", "text", "lo")
    assert watcher.values == []
    voice.speak()
    voice.say("t.1", "text", "!")
    spoken = [each.text for each in watcher.values if isinstance(each, Delta | Progress)]
    assert spoken == ["one", "Hel", "lo", "!"]
    assert [each.offset for each in watcher.values if isinstance(each, Delta)] == [0, 3, 5]
