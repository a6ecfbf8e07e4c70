"""Which conversation is meant, and which names there can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import ConversationCreated
from askd.errors import NotFound, RequestError
from askd.sessions.hub import Hub
from askd.sessions.live import LiveSession
from askd.sessions.targets import Target, ToCreate, check_name, find_target
from askd.store.log import Write
from askd.store.memory import MemoryLog
from tests.fakes.log import FakeStore
from tests.fakes.sessions import encode

STORED = {"0a1b2c3d-one": "work", "0a1b9999-two": "beef", "ffff0000-three": None}
MEMORY = {"eeee1111-four": "scratch", "dddd2222-five": None}


async def make_ephemeral(id: str, name: str | None) -> LiveSession:
    log = MemoryLog(observe=lambda events: session.observe(events), now=lambda: 0.0)
    session = LiveSession(id, log=log, hub=Hub(encode), ephemeral=True)
    bodies = [ConversationCreated(id, name)]
    await log.append(Write(conversation_id=id, bodies=bodies, create=True))
    return session


async def find(
    kind: str, value: str | None, *, create: bool = False, terminals: dict[str, str] | None = None
) -> str | ToCreate:
    store = FakeStore()
    for id, name in STORED.items():
        bodies = [ConversationCreated(id, name)]
        await store.append(
            Write(conversation_id=id, bodies=bodies, create=True, terminal=f"tty-{name}")
        )
    memory = [await make_ephemeral(id, name) for id, name in MEMORY.items()]
    return await find_target(
        Target(kind, value, create),  # type: ignore[arg-type]
        reader=store,
        memory=memory,
        terminals=terminals or {},
    )


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("id", "0a1b2c3d-one", "0a1b2c3d-one"),
        ("id", "eeee1111-four", "eeee1111-four"),
        ("session", "0a1b2c3d-one", "0a1b2c3d-one"),
        ("session", "work", "0a1b2c3d-one"),
        ("session", "beef", "0a1b9999-two"),
        ("session", "0a1b2", "0a1b2c3d-one"),
        ("session", "scratch", "eeee1111-four"),
        ("session", "dddd2222-five", "dddd2222-five"),
        ("session", "dddd", "dddd2222-five"),
        ("terminal", "tty-work", "0a1b2c3d-one"),
    ],
)
async def test_what_is_there_is_found(kind: str, value: str, found: str) -> None:
    assert await find(kind, value) == found
    assert await find(kind, value, create=True) == found


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("id", "0a1b2c3d", "conversation_not_found"),
        ("id", None, "conversation_not_found"),
        ("session", "0a1b", "conversation_ambiguous"),
        ("session", "cccc", "conversation_not_found"),
        ("terminal", "tty-other", "no_terminal"),
        ("terminal", None, "no_terminal"),
    ],
)
async def test_what_is_not_there_is_never_created(
    kind: str, value: str | None, reason: str
) -> None:
    for create in (False, True):
        with pytest.raises(NotFound) as caught:
            await find(kind, value, create=create)
        assert caught.value.reason == reason


async def test_a_new_name_is_created_only_if_asked_for() -> None:
    assert await find("session", "fresh", create=True) == ToCreate("fresh")
    with pytest.raises(NotFound):
        await find("session", "fresh")
    assert await find("new", None) == ToCreate(None)
    assert await find("new", "fresh") == ToCreate("fresh")
    with pytest.raises(RequestError):
        await find("session", "-x", create=True)


async def test_a_terminals_ephemeral_conversation_comes_first() -> None:
    found = await find("terminal", "tty-work", terminals={"tty-work": "eeee1111-four"})
    assert found == "eeee1111-four"


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a\nb", "a\x7f", "x" * 65, "a\x9bb", "\ud800"])
def test_bad_names(name: str) -> None:
    with pytest.raises(RequestError, match="Not a name for a conversation") as caught:
        check_name(name)
    assert caught.value.reason == "bad_name"


@given(
    st.text("abc -_.é語👍", min_size=1, max_size=64).filter(
        lambda name: name.strip() and name[0] != "-"
    )
)
def test_good_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", [" ", "\u200b", "\u2060 \u00a0", "\u3164", "\u2800", "\u0301"])
def test_a_name_can_be_seen(name: str) -> None:
    with pytest.raises(RequestError, match="a character that can be seen") as caught:
        check_name(name)
    assert caught.value.reason == "bad_name"
    assert check_name(f"a{name}b") == f"a{name}b"


@pytest.mark.parametrize("name", ["0a1b", "0A1B2c3d", "ffff", "0a1b2c3d-", "dddd", "eeee1111-"])
async def test_a_new_name_hides_no_id(name: str) -> None:
    with pytest.raises(RequestError, match="begins with") as caught:
        await find("new", name)
    assert caught.value.reason == "bad_name"


@pytest.mark.parametrize("name", ["beef", "cafe", "0a1", "0a1c", "2026-11-22", "work"])
async def test_a_name_that_hides_nothing_can_be_given(name: str) -> None:
    # Whether another one has it is for the log to say.
    assert await find("new", name) == ToCreate(name)


async def test_what_begins_several_names_them_wherever_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MEMORY, "ffff1111-six", "memo")
    with pytest.raises(NotFound) as both:
        await find("session", "FFFF", create=True)
    assert both.value.reason == "conversation_ambiguous"
    assert both.value.message == (
        "More than one conversation begins with FFFF: ffff0000, ffff1111 (memo). "
        "Give more characters of the id."
    )
    assert both.value.data == {"candidates": ["ffff0000-three", "ffff1111-six"]}
    assert await find("session", "ffff1") == "ffff1111-six"
    monkeypatch.setitem(MEMORY, "dddd3333-seven", None)
    with pytest.raises(NotFound, match="dddd2222, dddd3333"):
        await find("session", "dddd")
