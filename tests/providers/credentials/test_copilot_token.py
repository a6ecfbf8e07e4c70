"""Copilot: whose GitHub sign-in is used, and the short token that it is exchanged for."""

import json
import stat
from pathlib import Path

import pytest
import trio

from askd.errors import BadAnswer, NotConfigured, ProviderError, Unauthenticated, Unavailable
from askd.providers.base import Endpoint
from askd.providers.credentials.copilot_token import CLIENT_ID, HEADERS, CopilotSignIn
from askd.providers.credentials.sign_in import Grant
from askd.providers.credentials.token_server import TokenServer
from askd.providers.redact import KnownSecrets
from tests.fakes.credentials import Clock, make_config, write_private
from tests.fakes.sign_in_servers import GitHub, Said, say

CONFIG = make_config("copilot", dialect="copilot", auth="copilot")
GHU = "ghu_canary_token"


class Bench:
    """A home with an editor's file, GitHub, and what reads the one and asks the other."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = Clock()
        self.secrets = KnownSecrets()
        self.server = GitHub(self.clock, tokens={GHU})
        self.directory = tmp_path / ".config" / "github-copilot"
        self.sign_in = CopilotSignIn(
            tmp_path / "ask" / "copilot.json",
            environ={"HOME": str(tmp_path)},
            api_url="https://api.github.com/",
            secrets=self.secrets,
            now=self.clock,
        )

    def put(self, token: str = GHU) -> Path:
        """An editor's sign-in."""
        entry = {f"github.com:{CLIENT_ID}": {"user": "ada", "oauth_token": token}}
        return write_private(self.directory / "apps.json", entry)

    def ask(self) -> TokenServer:
        return TokenServer(
            self.server, lambda at: Endpoint(provider="copilot", base_url=at), self.secrets
        )

    async def fetch(self, **settings: object) -> Grant:
        config = make_config("copilot", dialect="copilot", auth="copilot", **settings)
        return await self.sign_in.fetch(config, {}, self.ask())

    async def renew(self) -> Grant | None:
        return await self.sign_in.renew(CONFIG, {}, self.ask())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_exchange_gives_token_address_and_headers(bench: Bench) -> None:
    path = bench.put()
    grant = await bench.fetch()
    assert grant.token.endswith("copilot-secret")
    assert grant.base_url == "https://api.business.githubcopilot.com"
    assert grant.headers == HEADERS
    assert "user-agent" not in HEADERS
    asked = bench.server.endpoints[0].headers
    assert asked["authorization"] == f"token {GHU}"
    assert asked["editor-version"] == HEADERS["editor-version"]
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert (standing.source, standing.account) == (str(path), "ada")
    assert standing.valid_until_at == bench.clock.at + 1800
    assert bench.secrets.hide(f"{GHU} {grant.token}") == "*** ***"


async def test_headers_of_the_settings_go_first(bench: Bench) -> None:
    bench.put()
    await bench.fetch(headers={"Editor-Version": "mine/1"})
    assert bench.server.endpoints[0].headers["editor-version"] == "mine/1"


async def test_token_is_kept_until_it_is_due(bench: Bench) -> None:
    bench.put()
    first = await bench.fetch()
    bench.clock.at += 1499
    assert await bench.fetch() == first
    bench.clock.at += 2
    assert await bench.fetch() != first
    assert bench.server.count("/v2/token") == 2


async def test_many_at_once_exchange_once(bench: Bench) -> None:
    bench.put()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(bench.fetch)
    assert bench.server.count("/v2/token") == 1
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(bench.renew)
    assert bench.server.count("/v2/token") == 2


async def test_clock_that_is_wrong_does_not_exchange_at_every_use(bench: Bench) -> None:
    bench.put()
    github_says = Clock()
    bench.server.now = github_says
    for skew_s in (-7200.0, 7200.0):
        bench.server.calls.clear()
        bench.clock.at = github_says.at + skew_s
        await bench.renew()
        await bench.fetch()
        await bench.fetch()
        assert bench.server.count("/v2/token") == 1


@pytest.mark.parametrize("missing", ["refresh_in", "expires_at", "both"])
async def test_answer_that_does_not_say_how_long(bench: Bench, missing: str) -> None:
    bench.put()
    data = {"token": "tid=1;secret", "refresh_in": 1500, "expires_at": bench.clock.at + 1800}
    for name in ("refresh_in", "expires_at") if missing == "both" else (missing,):
        del data[name]
    bench.server.troubles = [say(200, data)]
    first = await bench.fetch()
    assert first.base_url is None
    bench.clock.at += 1200
    assert await bench.fetch() == first
    bench.clock.at += 600
    assert await bench.fetch() != first


@pytest.mark.parametrize(
    ("api", "url"),
    [
        ("https://api.x.example/", "https://api.x.example"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("http://api.x.example", None),
        ("ftp://x", None),
        (5, None),
    ],
)
async def test_address_for_chats_must_be_a_safe_one(
    bench: Bench, api: object, url: str | None
) -> None:
    bench.put()
    bench.server.troubles = [say(200, {"token": "tid=1;secret", "endpoints": {"api": api}})]
    assert (await bench.fetch()).base_url == url


# ---- trouble ----------------------------------------------------------------------


async def test_trouble_while_the_token_is_good_spoils_nothing(bench: Bench) -> None:
    bench.put()
    first = await bench.fetch()
    bench.clock.at += 1600
    bench.server.troubles = [Unavailable("no way there"), say(500, {}), say(401, {})]
    for _ in range(3):
        assert await bench.fetch() == first
    assert await bench.fetch() != first
    bench.clock.at += 4000
    bench.server.troubles = [Unavailable("no way there")]
    with pytest.raises(Unavailable):
        await bench.fetch()


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (
            say(401, {"message": f"Bad credentials {GHU}"}),
            Unauthenticated,
            "`ask auth login copilot`",
        ),
        (say(403, {"error_details": {"message": "Not for you."}}), Unauthenticated, "Not for you."),
        (say(404, {"message": "Not Found"}), Unauthenticated, "has no Copilot"),
        (say(500, {}), Unavailable, "HTTP 500"),
        (say(200, {"no": "token"}), BadAnswer, "HTTP 200"),
        (Said(200, b"<html>"), BadAnswer, "HTTP 200"),
    ],
)
async def test_exchange_that_fails(
    bench: Bench, said: Said, kind: type[ProviderError], words: str
) -> None:
    bench.put()
    bench.server.troubles = [said]
    with pytest.raises(kind, match=words) as caught:
        await bench.fetch()
    assert GHU not in caught.value.message


# ---- whose sign-in ----------------------------------------------------------------


async def test_nobody_is_signed_in(bench: Bench) -> None:
    assert bench.sign_in.look(CONFIG, {}) is None
    with pytest.raises(NotConfigured, match="`ask auth login copilot`"):
        await bench.fetch()


async def test_ours_goes_before_an_editors(bench: Bench) -> None:
    bench.put("ghu_of_an_editor")
    await bench.sign_in.keep(GHU, CLIENT_ID)
    assert json.loads(bench.sign_in.path.read_text()) == {
        "oauth_token": GHU,
        "client_id": CLIENT_ID,
    }
    assert stat.S_IMODE(bench.sign_in.path.stat().st_mode) == 0o600
    await bench.fetch()
    assert bench.server.endpoints[0].headers["authorization"] == f"token {GHU}"
    assert await bench.sign_in.log_out()
    assert not await bench.sign_in.log_out()
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert standing.source.endswith("apps.json")


@pytest.mark.parametrize(
    ("name", "data", "token"),
    [
        ("hosts.json", {"github.com": {"oauth_token": "gho_1"}}, "gho_1"),
        (
            "apps.json",
            {"github.com:other": {"oauth_token": "ghu_1"},
             f"github.com:{CLIENT_ID}": {"oauth_token": "ghu_2"}},
            "ghu_2",
        ),
        ("apps.json", {"github.com:other": {"oauth_token": "ghu_1"}}, "ghu_1"),
        ("apps.json", {"ghe.example:x": {"oauth_token": "ghu_1"}}, None),
        ("apps.json", {"github.com:x": ["ghu_1"], "github.com:y": {"oauth_token": 5}}, None),
    ],
)  # fmt: skip
def test_files_of_editors(bench: Bench, name: str, data: object, token: str | None) -> None:
    write_private(bench.directory / name, data)
    found = bench.sign_in._find(CONFIG, {})
    assert (found.value if found else None) == token


async def test_file_that_others_can_read(bench: Bench) -> None:
    path = bench.put()
    path.chmod(0o644)
    with pytest.raises(NotConfigured, match=f"chmod 600 {path}"):
        await bench.fetch()


async def test_file_that_cannot_be_written(bench: Bench) -> None:
    write_private(bench.sign_in.path.parent, "a file where the directory should be")
    with pytest.raises(NotConfigured, match="cannot be written"):
        await bench.sign_in.keep(GHU, CLIENT_ID)
