"""The code that is typed in a browser: how often GitHub is asked, and how it ends."""

import pytest
import trio
from trio.testing import MockClock

from askd.errors import NotConfigured, ProviderError, RateLimited, Unavailable
from askd.providers.base import Endpoint
from askd.providers.credentials.device_flow import GITHUB_URL, DeviceCode, ask_code, wait_for_token
from askd.providers.credentials.token_server import TokenServer
from askd.providers.redact import KnownSecrets
from tests.fakes.sign_in_servers import GitHub, Said, say


class Bench:
    """GitHub, and who asks it."""

    def __init__(self) -> None:
        self.github = GitHub(lambda: 0.0)
        self.server = TokenServer(
            self.github, lambda at: Endpoint(provider="copilot", base_url=at), KnownSecrets()
        )

    async def ask(self) -> DeviceCode:
        return await ask_code("copilot", self.server, github_url=GITHUB_URL, client_id="Iv1.x")

    async def wait(self, code: DeviceCode) -> str:
        return await wait_for_token(
            "copilot", self.server, code, github_url=GITHUB_URL, client_id="Iv1.x"
        )

    async def type_after(self, wait_s: float, what: bool | str = True) -> None:
        await trio.sleep(wait_s)
        self.github.typed = what


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_code_is_typed(bench: Bench, autojump_clock: MockClock) -> None:
    code = await bench.ask()
    assert (code.user_code, code.url) == ("ABCD-1234", "https://github.com/login/device")
    assert "secret" not in repr(code)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.type_after, 42)
        assert await bench.wait(code) in bench.github.tokens
    assert trio.current_time() == pytest.approx(45, abs=1)
    assert bench.github.violations == []


async def test_slow_down_is_obeyed(bench: Bench, autojump_clock: MockClock) -> None:
    code = await bench.ask()
    bench.github.interval_s = 20.0  # GitHub has changed its mind
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.type_after, 200)
        await bench.wait(code)
    assert len(bench.github.violations) == 1


@pytest.mark.parametrize(
    ("typed", "words"), [("denied", "was not allowed"), ("too late", "not typed in time")]
)
async def test_no_and_too_late(
    bench: Bench, autojump_clock: MockClock, typed: str, words: str
) -> None:
    code = await bench.ask()
    bench.github.typed = typed
    with pytest.raises(NotConfigured, match=words) as caught:
        await bench.wait(code)
    assert caught.value.reason == "login_failed"


async def test_nobody_types_it(bench: Bench, autojump_clock: MockClock) -> None:
    code = await bench.ask()
    with pytest.raises(NotConfigured, match="not typed in time"):
        await bench.wait(code)
    assert trio.current_time() == pytest.approx(900, abs=1)


async def test_way_that_is_broken_for_a_while(bench: Bench, autojump_clock: MockClock) -> None:
    code = await bench.ask()
    bench.github.typed = True
    bench.github.troubles = [Unavailable("no way there"), say(503, {}), Said(502, b"<html>")]
    assert await bench.wait(code) in bench.github.tokens


async def test_what_will_not_get_better_ends_it(bench: Bench, autojump_clock: MockClock) -> None:
    code = await bench.ask()
    for said in (
        say(200, {"error": "incorrect_device_code", "error_description": "No such code."}),
        say(404, {"message": "Not Found"}),
    ):
        bench.github.troubles = [said]
        with pytest.raises(NotConfigured, match="the sign-in failed") as caught:
            await bench.wait(code)
        assert caught.value.reason == "login_failed"
    bench.github.troubles = [NotConfigured("not allowed", reason="local_only")]
    with pytest.raises(NotConfigured, match="not allowed"):
        await bench.wait(code)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (say(404, {"message": "Not Found"}), NotConfigured),
        (say(200, {"user_code": "A"}), ProviderError),
        (say(429, {}), RateLimited),
        (Unavailable("no way there"), Unavailable),
        (
            say(200, {"device_code": "d", "user_code": "A", "verification_uri": "javascript:x"}),
            ProviderError,
        ),
    ],
)
async def test_no_code(
    bench: Bench, autojump_clock: MockClock, said: Said | Exception, kind: type[ProviderError]
) -> None:
    bench.github.troubles = [said]
    with pytest.raises(kind):
        await bench.ask()


@pytest.mark.parametrize("interval", [None, "x", 0, -5, 1e9])
async def test_odd_times_are_bounded(
    bench: Bench, autojump_clock: MockClock, interval: object
) -> None:
    said = {
        "device_code": "d",
        "user_code": "A\x1b[1m",
        "verification_uri": "https://x.example/\x1b",
    }
    bench.github.troubles = [say(200, {**said, "interval": interval, "expires_in": interval})]
    code = await bench.ask()
    assert 5 <= code.interval_s <= 60
    assert code.life_s == 900
    assert (code.user_code + code.url).isprintable()
