"""What turns get of their projects: read when they begin, said once, and always what the log says.

Every request is compared with what the log alone would make of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from askd.core.approval import ApprovalRules
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    InstructionsChanged,
    PromptAccepted,
    SettingsChanged,
    TurnOptions,
    TurnStarted,
)
from askd.core.instructions import HEAD, InstructionFile, join_instructions
from askd.core.items import Text, UserMessage
from askd.core.outcome import DONE, STORAGE
from askd.core.turn import Steered
from askd.errors import StorageFailed
from askd.providers.base import Caller
from askd.sessions.ahead import FRESH_S
from askd.sessions.instructions import LATE, NONE_ANY_MORE, find_given, find_told
from askd.sessions.live import LiveSession
from askd.sessions.needs import InstructionSource
from askd.sessions.preview import preview
from askd.sessions.prompts import Accepted
from askd.sessions.rules import ContextRules, InstructionRules
from askd.sessions.triggers import estimate_request
from askd.store.log import Write
from askd.tools.base import Site
from askd.tools.instructions import Found
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.sessions.approval_world import Door, answer, call, models_that, told, wait_parked

RULE = InstructionFile("/p/AGENTS.md", "Say hue.")
OTHER = InstructionFile("/q/AGENTS.md", "Say color.")


@dataclass
class Projects(InstructionSource):
    """Directories with their instructions; `delay_s`: how long reading takes."""

    files: dict[str, tuple[InstructionFile, ...]] = field(
        default_factory=lambda: {"/p": (RULE,), "/q": (OTHER,)}
    )
    rules: InstructionRules = field(default_factory=InstructionRules)
    complaints: tuple[str, ...] = ()
    delay_s: float = 0.0
    read_of: list[tuple[str | None, str | None, Mapping[str, str], tuple[str, ...]]] = field(
        default_factory=list
    )

    def find_rules(self) -> InstructionRules:
        return self.rules

    async def read(self, site: Site, names: Sequence[str]) -> Found:
        self.read_of.append((site.cwd, site.cwd_id, site.env, tuple(names)))
        await trio.sleep(self.delay_s)
        return Found(files=self.files.get(site.cwd or "", ()), complaints=self.complaints)


WITHOUT = TurnOptions(instructions=False)
WANTED = TurnOptions(instructions=True)


async def ask(
    room: Room,
    cwd: str | None,
    session: LiveSession | None = None,
    options: TurnOptions | None = None,
) -> Accepted:
    """A turn from its prompt to its end."""
    target = None if session is None else to(session)
    accepted = await room.ask(
        target=target, cwd=cwd, cwd_id="1:2", env={"HOME": "/h"}, options=options
    )
    assert (await room.finish(accepted)).code == DONE
    return accepted


async def bodies(room: Room, session: LiveSession) -> list[Body]:
    return [event.body for event in await room.store.load(session.id)]


async def changes(room: Room, session: LiveSession) -> list[tuple[InstructionFile, ...]]:
    found = await bodies(room, session)
    return [body.files for body in found if isinstance(body, InstructionsChanged)]


async def check_requests(room: Room, session: LiveSession) -> list[str | None]:
    """The system prompts that were sent; each is what the log said when its turn had started."""
    events = await room.store.load(session.id)
    expected = []
    for index, event in enumerate(events, 1):
        if isinstance(event.body, TurnStarted):
            conversation = fold(session.id, events[:index])
            options = conversation.turns[event.body.turn_id].prompt.options
            expected.append(find_told(conversation, options))
    sent = [request.system for request in room.models.requests]
    assert sent == expected
    return sent


async def test_they_are_read_where_the_caller_stands_and_kept_before_the_turn_starts() -> None:
    projects = Projects(rules=InstructionRules(files=("RULES.md",)))
    async with open_room(instructions=projects) as room:
        accepted = await ask(room, "/p", options=TurnOptions(system="Be brief."))
        assert projects.read_of == [("/p", "1:2", {"HOME": "/h"}, ("RULES.md",))]
        assert await check_requests(room, accepted.session) == [
            join_instructions("Be brief.", (RULE,))
        ]
        kinds = [type(body) for body in await bodies(room, accepted.session)]
        start = kinds.index(TurnStarted)
        assert kinds[start - 2 : start] == [SettingsChanged, InstructionsChanged]


async def test_they_are_written_and_said_only_when_they_differ() -> None:
    projects = Projects()
    async with open_room(instructions=projects) as room:
        first = await room.ask(cwd="/p")
        session, watcher = first.session, Watcher()
        session.subscribe(watcher)
        await room.finish(first)
        await ask(room, "/p", session)
        await ask(room, "/q", session)
        projects.files["/q"] = ()
        await ask(room, "/q", session)
        await ask(room, None, session)
        assert await changes(room, session) == [(RULE,), (OTHER,), ()]
        assert told(watcher, "instructions") == [
            "Instructions: AGENTS.md (8 B); --no-instructions leaves them out",
            "Instructions: AGENTS.md (10 B); --no-instructions leaves them out",
            NONE_ANY_MORE,
        ]
        sent = await check_requests(room, session)
        assert [HEAD in (each or "") for each in sent] == [True, True, True, False, False]
        assert sent[0] == sent[1]


async def test_a_prompt_says_it_for_its_turn_and_the_first_one_for_its_conversation() -> None:
    projects = Projects()
    async with open_room(instructions=projects) as room:
        session = (await ask(room, "/p")).session
        for options in (WITHOUT, None):
            await ask(room, "/p", session, options)
        # It was not even looked at, and what the conversation has is still there.
        assert len(projects.read_of) == 2
        assert await changes(room, session) == [(RULE,)]
        sent = await check_requests(room, session)
        assert [HEAD in (each or "") for each in sent] == [True, False, True]
        assert sent[0] == sent[2]
    async with open_room(instructions=Projects()) as room:
        session = (await ask(room, "/p", options=WITHOUT)).session
        for options in (None, WANTED, None):
            await ask(room, "/p", session, options)
        sent = await check_requests(room, session)
        assert [HEAD in (each or "") for each in sent] == [False, False, True, False]
        assert session.conversation.settings.instructions is False


async def test_the_settings_say_it_where_nobody_else_does() -> None:
    projects = Projects(rules=InstructionRules(enabled=False))
    async with open_room(instructions=projects) as room:
        session = (await ask(room, "/p")).session
        assert projects.read_of == []
        await ask(room, "/p", session, WANTED)
        await ask(room, "/p", session)
        sent = await check_requests(room, session)
        assert [HEAD in (each or "") for each in sent] == [False, True, False]
        # Settings are not in the log; that there were none is.
        assert await changes(room, session) == [(RULE,), ()]
        wanted = (await ask(room, "/p", options=WANTED)).session
        await ask(room, "/p", wanted)
        assert [HEAD in (each.system or "") for each in room.models.requests[-2:]] == [True, True]


async def test_a_disk_that_does_not_answer_keeps_nobody_waiting(
    autojump_clock: trio.testing.MockClock,
) -> None:
    projects = Projects()
    async with open_room(instructions=projects) as room:
        session, watcher = (await ask(room, "/p")).session, Watcher()
        session.subscribe(watcher)
        projects.delay_s = 3600.0
        before = trio.current_time()
        await ask(room, "/p", session)
        assert trio.current_time() - before < 2.0
        assert told(watcher, "warning") == [LATE]
        assert told(watcher, "instructions") == []
        sent = await check_requests(room, session)
        assert sent[1] is None
        projects.delay_s = 0.5
        await ask(room, "/p", session)
        assert HEAD in (room.models.requests[-1].system or "")


async def test_why_something_is_left_out_is_said_once() -> None:
    projects = Projects(complaints=("/p/AGENTS.md is left out: it is a socket.",), files={})
    async with open_room(instructions=projects) as room:
        first = await room.ask(cwd="/p")
        watcher = Watcher()
        first.session.subscribe(watcher)
        await room.finish(first)
        await ask(room, "/p", first.session)
        assert told(watcher, "warning") == list(projects.complaints)
        projects.files["/p"] = (RULE,)
        await ask(room, "/p", first.session)
        assert told(watcher, "warning") == [*projects.complaints, *projects.complaints]


async def test_a_turn_that_finds_no_model_looks_at_nothing() -> None:
    projects, go_on = Projects(), trio.Event()
    models = ScriptedModels(lambda request: [go_on, "Blue."])
    async with open_room(instructions=projects, models=models) as room:
        first = await room.ask()
        second = await room.ask(target=to(first.session), cwd="/p")
        await trio.testing.wait_all_tasks_blocked()
        models.known = ("test/other",)
        go_on.set()
        assert (await room.finish(second)).outcome == "failed"
        assert await changes(room, first.session) == []
        assert [cwd for cwd, *_ in projects.read_of] == [None]


async def test_who_comes_back_to_a_question_is_told_nothing_new() -> None:
    projects, door = Projects(), Door()
    async with open_room(
        instructions=projects,
        models=models_that(call("door"), ["Open."]),
        tools=[door],
        approval=ApprovalRules(policy="ask"),
    ) as room:
        options = TurnOptions(detach=True, tools=("door",))
        accepted = await room.ask(cwd="/p", options=options)
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        projects.files["/p"] = (OTHER,)
        await answer(accepted.session, question)
        assert (await room.finish(accepted)).code == DONE
        assert door.opened
        one, two = [request.system for request in room.models.requests]
        assert one == two == join_instructions(None, (RULE,))
        assert len(projects.read_of) == 1


async def test_a_message_that_steers_joins_a_turn_that_has_its_own() -> None:
    projects, go_on = Projects(), trio.Event()
    models = ScriptedModels(lambda request: ["So", go_on])
    async with open_room(instructions=projects, models=models) as room:
        accepted = await room.ask(cwd="/p")
        await trio.testing.wait_all_tasks_blocked()
        assert accepted.session.running is not None
        projects.files["/p"] = (OTHER,)
        go_on.set()
        accepted.session.running.post(Steered(UserMessage("s", (Text("No, red."),))))
        await room.finish(accepted)
        one, two = [request.system for request in room.models.requests]
        assert one == two == join_instructions(None, (RULE,))


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_what_is_ephemeral_has_them_too(ephemeral: bool) -> None:
    async with open_room(instructions=Projects()) as room:
        accepted = await room.ask(cwd="/p", ephemeral=ephemeral)
        await room.finish(accepted)
        await room.finish(await room.ask("more", target=to(accepted.session), cwd="/p"))
        one, two = [request.system for request in room.models.requests]
        assert one == two == join_instructions(None, (RULE,))
        assert accepted.session.conversation.instructions == (RULE,)
        assert (room.store.writes == []) is ephemeral


async def test_where_nothing_can_be_stored_the_turn_has_them_all_the_same() -> None:
    def starts(write: Write) -> bool:
        return any(isinstance(body, TurnStarted) for body in write.bodies)

    store = FakeStore()
    store.fail_if = starts
    async with open_room(instructions=Projects(), store=store) as room:
        accepted = await room.ask(cwd="/p")
        status = await accepted.session.wait_finished(accepted.turn_id)
        assert status.code == STORAGE
        assert [request.system for request in room.models.requests] == [
            join_instructions(None, (RULE,))
        ]
        assert accepted.session.conversation.instructions == ()


async def test_the_preview_and_the_estimates_count_them() -> None:
    async with open_room(instructions=Projects(), context=ContextRules(compaction=False)) as room:
        session = (await ask(room, "/p")).session
        seen = await preview(session, Caller(env={}, secrets={}), room.sessions.means)
        assert seen.context.system == join_instructions(None, (RULE,))
        assert list(seen.instructions) == [RULE]
        model = await room.models.resolve(None, Caller(env={}, secrets={}))
        means = room.sessions.means
        with_them = estimate_request(session.conversation, [], model=model, means=means)
        await session.append([InstructionsChanged()])
        without_them = estimate_request(session.conversation, [], model=model, means=means)
        assert with_them > without_them + 20


def test_what_a_turn_is_given_is_what_its_log_says_or_what_was_just_read() -> None:
    conversation = fold("c", [])
    conversation.instructions = (RULE,)
    assert find_given(conversation, TurnOptions()) == (RULE,)
    assert find_given(conversation, TurnOptions(), (OTHER,)) == (OTHER,)
    assert find_given(conversation, WITHOUT, (OTHER,)) == ()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (InstructionFile("/p/AGENTS.md", "x" * 1234), "AGENTS.md (1.2 kB)"),
        (InstructionFile("/AGENTS.md", "x"), "/AGENTS.md (1 B)"),
        (InstructionFile("/p/a\x1b/AGENTS.md", "x"), "a\\x1b/AGENTS.md (1 B)"),
        (InstructionFile("/p/AGENTS.md", "x" * 999, 1001), "AGENTS.md (the first 999 B of 2.0 kB)"),
    ],
)
async def test_how_a_file_is_named(file: InstructionFile, line: str) -> None:
    async with open_room(instructions=Projects(files={"/p": (file,)})) as room:
        accepted, watcher = await room.ask(cwd="/p"), Watcher()
        accepted.session.subscribe(watcher)
        await room.finish(accepted)
        assert told(watcher, "instructions") == [
            f"Instructions: {line}; --no-instructions leaves them out"
        ]


@pytest.mark.parametrize(("stored_after_s", "reads"), [(FRESH_S / 2, 1), (FRESH_S * 2, 2)])
async def test_they_are_read_while_the_prompt_is_being_stored_and_again_if_that_takes_long(
    stored_after_s: float, reads: int, autojump_clock: trio.testing.MockClock
) -> None:
    projects, stored = Projects(), trio.Event()
    async with open_room(instructions=projects) as room:
        room.store.slow[PromptAccepted] = stored
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, room, "/p")
            await trio.sleep(stored_after_s)
            assert len(projects.read_of) == 1
            projects.files["/p"] = (OTHER,)
            stored.set()
        (session,) = room.sessions.live()
        assert len(projects.read_of) == reads
        assert await changes(room, session) == [(RULE,) if reads == 1 else (OTHER,)]


async def test_what_was_read_for_a_prompt_that_is_refused_is_for_no_other() -> None:
    projects = Projects()
    async with open_room(instructions=projects) as room:
        session = (await ask(room, "/p")).session
        room.store.failing = True
        with pytest.raises(StorageFailed):
            await room.ask(target=to(session), cwd="/q")
        await trio.testing.wait_all_tasks_blocked()
        room.store.failing = False
        await ask(room, "/p", session)
        assert [cwd for cwd, *_ in projects.read_of] == ["/p", "/q", "/p"]
        assert await changes(room, session) == [(RULE,)]
