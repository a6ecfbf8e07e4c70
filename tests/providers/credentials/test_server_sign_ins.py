"""Sign-ins at servers of tools: kept for one address, renewed once, never shown."""

import json
import stat
from pathlib import Path

import pytest
import trio

from askd.errors import NotConfigured, ProviderError, Unavailable
from askd.providers.base import Endpoint, HttpCall
from askd.providers.credentials import server_sign_ins
from askd.providers.credentials.renewal import Renewals
from askd.providers.credentials.server_sign_ins import ServerSignIn, ServerSignIns
from askd.providers.credentials.token_server import TokenServer
from askd.providers.redact import MASK, KnownSecrets
from tests.fakes.credentials import Clock, refuse_to_ask
from tests.fakes.mcp_http_server import McpHttpServer
from tests.fakes.sign_in_servers import Said

URL = "https://docs.example/mcp"
TOKEN_URL = "https://docs.example/token"


class Bench:
    """A directory, and a token server with its rules but without a socket."""

    def __init__(self, home: Path) -> None:
        self.clock = Clock()
        self.secrets = KnownSecrets()
        self.directory = home / "sign-ins"
        self.server = McpHttpServer(wants="sign-in")
        self.server.base_url = "https://docs.example"
        self.asked: list[tuple[HttpCall, Endpoint]] = []
        self.troubles: list[Said | Exception] = []
        self.late: trio.Event | None = None
        self.sign_ins = self.restart()

    def restart(self) -> ServerSignIns:
        return ServerSignIns(self.directory, secrets=self.secrets, now=self.clock)

    @property
    def way(self) -> TokenServer:
        return TokenServer(
            self._ask, lambda at: Endpoint(provider="docs", base_url=at), self.secrets
        )

    def register(self, secret_method: str | None = None) -> ServerSignIn:
        """What a sign-in leaves behind, and the server knows of."""
        self.server.rules.secret_method = secret_method
        client = json.loads(self.server._register({}).body)
        granted = self.server._grant(client["client_id"])
        return ServerSignIn(
            url=URL,
            token_url=TOKEN_URL,
            client_id=client["client_id"],
            client_secret=client.get("client_secret"),
            auth_method=client["token_endpoint_auth_method"],
            access_token=granted["access_token"],
            refresh_token=granted.get("refresh_token"),
            valid_until_at=self.clock.at + 3600,
            resource=URL,
        )

    async def _ask(self, endpoint: Endpoint, call: HttpCall) -> Said:
        await trio.lowlevel.checkpoint()
        self.asked.append((call, endpoint))
        if self.troubles:
            trouble = self.troubles.pop(0)
            if isinstance(trouble, Exception):
                raise trouble
            return trouble
        assert endpoint.base_url + call.path == TOKEN_URL
        status = await self.server.answer_request(
            "POST", call.path, dict(endpoint.headers), call.body
        )
        if self.late is not None:
            await self.late.wait()
        assert not isinstance(status, tuple | list)
        return Said(status.code, status.body)  # type: ignore[union-attr]  # it streams nothing


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_what_is_kept_is_private_and_for_its_address_alone(bench: Bench) -> None:
    kept = bench.register()
    assert bench.sign_ins.read("docs", URL) is None
    path = await bench.sign_ins.keep("docs", kept)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    again = bench.restart()
    assert again.read("docs", URL) == kept
    for url in ("https://docs.example/mcp2", "http://docs.example/mcp", "https://evil.example/mcp"):
        assert again.read("docs", url) is None
        assert await again.fetch("docs", url, bench.way) is None
        assert await again.renew("docs", url, bench.way, refused=kept.access_token) is None
    assert again.read("other", URL) is None
    assert bench.asked == []
    assert await again.drop("docs")
    assert not await again.drop("docs")
    assert again.read("docs", URL) is None


async def test_a_file_that_others_can_read_is_refused(bench: Bench) -> None:
    path = await bench.sign_ins.keep("docs", bench.register())
    path.chmod(0o644)
    with pytest.raises(NotConfigured, match="chmod 600"):
        bench.sign_ins.read("docs", URL)


@pytest.mark.parametrize("content", ['{"url": 1}', "{}", '{"url": "x", "access_token": "y"}'])
async def test_a_file_that_says_too_little_is_no_sign_in(bench: Bench, content: str) -> None:
    path = await bench.sign_ins.keep("docs", bench.register())
    path.write_text(content)
    assert bench.sign_ins.read("docs", URL) is None


async def test_tokens_are_hidden_from_the_moment_they_are_seen(bench: Bench) -> None:
    kept = bench.register("client_secret_post")
    await bench.sign_ins.keep("docs", kept)
    secrets = [kept.access_token, kept.refresh_token, kept.client_secret]
    for each in secrets:
        assert bench.secrets.hide(f"it is {each}") == f"it is {MASK}"
        assert str(each) not in repr(kept)
    bench.clock.at += 3500
    found = await bench.sign_ins.fetch("docs", URL, bench.way)
    assert bench.secrets.hide(f"it is {found}") == f"it is {MASK}"


@pytest.mark.parametrize("method", [None, "client_secret_post", "client_secret_basic"])
async def test_a_token_that_ends_is_renewed_before_its_use(
    bench: Bench, method: str | None
) -> None:
    kept = bench.register(method)
    await bench.sign_ins.keep("docs", kept)
    assert await bench.sign_ins.fetch("docs", URL, bench.way) == kept.access_token
    assert bench.asked == []
    bench.clock.at += 3500
    again = bench.restart()
    token = await again.fetch("docs", URL, bench.way)
    assert token != kept.access_token
    assert token in bench.server.tokens
    # Written down: another daemon has it, and the spent refresh token is not used again.
    assert await bench.restart().fetch("docs", URL, bench.way) == token
    assert len(bench.asked) == 1
    assert bench.server.violations == []


async def test_many_who_need_it_renew_it_once(bench: Bench) -> None:
    await bench.sign_ins.keep("docs", bench.register())
    bench.clock.at += 3500
    again, found = bench.restart(), set()

    async def fetch() -> None:
        found.add(await again.fetch("docs", URL, bench.way))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(fetch)
    assert len(found) == len(bench.asked) == 1


async def test_a_refusal_renews_unless_somebody_else_was_faster(bench: Bench) -> None:
    kept = bench.register()
    await bench.sign_ins.keep("docs", kept)
    again = bench.restart()
    token = await again.renew("docs", URL, bench.way, refused=kept.access_token)
    assert token not in (None, kept.access_token)
    assert await again.renew("docs", URL, bench.way, refused=kept.access_token) == token
    # Got a moment ago: a late refusal of it says nothing.
    assert await again.renew("docs", URL, bench.way, refused=token or "") is None
    assert len(bench.asked) == 1


async def test_one_that_cannot_be_renewed_says_what_to_do_when_it_has_ended(bench: Bench) -> None:
    bench.server.rules.refreshes = False
    kept = bench.register()
    await bench.sign_ins.keep("docs", kept)
    again = bench.restart()
    assert await again.renew("docs", URL, bench.way, refused=kept.access_token) is None
    bench.clock.at += 3500  # it ends soon, and is still good
    assert await again.fetch("docs", URL, bench.way) == kept.access_token
    bench.clock.at += 3600
    with pytest.raises(NotConfigured, match="ask mcp login docs"):
        await again.fetch("docs", URL, bench.way)
    assert bench.asked == []


async def test_a_refresh_that_is_refused_says_what_to_do_and_repeats_nothing(bench: Bench) -> None:
    kept = bench.register()
    await bench.sign_ins.keep("docs", kept)
    bench.server.refresh_tokens.clear()
    again = bench.restart()
    with pytest.raises(NotConfigured) as caught:
        await again.renew("docs", URL, bench.way, refused=kept.access_token)
    assert "sign in again with `ask mcp login docs`" in caught.value.message
    assert kept.refresh_token not in (None, *caught.value.message.split())
    assert MASK in caught.value.message


async def test_a_token_server_that_is_down_costs_nothing_while_the_old_one_holds(
    bench: Bench,
) -> None:
    kept = bench.register()
    await bench.sign_ins.keep("docs", kept)
    bench.clock.at += 3500
    bench.troubles = [Unavailable("docs: nobody there"), Said(503, b"")]
    again = bench.restart()
    assert await again.fetch("docs", URL, bench.way) == kept.access_token
    assert await again.fetch("docs", URL, bench.way) == kept.access_token
    bench.clock.at += 3600
    bench.troubles = [Unavailable("docs: nobody there")]
    with pytest.raises(ProviderError, match="nobody there"):
        await again.fetch("docs", URL, bench.way)


async def test_what_the_disk_will_not_have_is_held_in_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = bench.register()
    await bench.sign_ins.keep("docs", kept)
    bench.clock.at += 3500
    again = bench.restart()

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(server_sign_ins, "replace_file", fail)
        first = await again.fetch("docs", URL, bench.way)
        assert first in bench.server.tokens
        assert await again.fetch("docs", URL, bench.way) == first
        bench.clock.at += 3500
        again._renewals = Renewals(bench.clock)  # as if it were long ago
        # Once more, with the refresh token that only memory has.
        second = await again.fetch("docs", URL, bench.way)
        assert second in bench.server.tokens - {first}
        assert await again.fetch("docs", URL, bench.way) == second
    assert bench.restart().read("docs", URL) == kept
    assert await again.fetch("docs", URL, bench.way) == second
    found = bench.restart().read("docs", URL)
    assert found is not None
    assert found.access_token == second
    assert bench.server.violations == []


async def test_a_renewal_that_nobody_waits_for_is_not_lost(bench: Bench) -> None:
    await bench.sign_ins.keep("docs", bench.register())
    bench.clock.at += 3500
    again, bench.late = bench.restart(), trio.Event()
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def fetch() -> None:
            with scope:
                await again.fetch("docs", URL, bench.way)

        nursery.start_soon(fetch)
        while not bench.asked:
            await trio.lowlevel.checkpoint()
        scope.cancel()
        bench.late.set()
    bench.late = None
    found = bench.restart().read("docs", URL)
    assert found is not None
    assert found.refresh_token in bench.server.refresh_tokens


async def test_a_name_that_could_be_a_path_is_a_fault_of_ours(bench: Bench) -> None:
    way = TokenServer(refuse_to_ask, lambda at: Endpoint(provider="x", base_url=at), bench.secrets)
    for name in ("../keys", "a/b", "", "."):
        with pytest.raises(AssertionError):
            await bench.sign_ins.fetch(name, URL, way)
