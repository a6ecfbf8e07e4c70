"""Claude Code's sign-in: read as it is, never renewed, and nothing borrowed with it."""

import math
from pathlib import Path

import pytest

from askd.errors import NotConfigured
from askd.providers.base import Endpoint
from askd.providers.credentials.claude import NOTE, ClaudeSignIn
from askd.providers.credentials.sign_in import Grant
from askd.providers.credentials.token_server import TokenServer
from askd.providers.redact import KnownSecrets
from tests.fakes.credentials import Clock, make_config, refuse_to_ask, write_private

CONFIG = make_config("anthropic", dialect="anthropic", auth="claude-oauth")
TOKEN = "sk-ant-oat01-canary"
REFRESH = "sk-ant-ort01-canary"


class Bench:
    """A home with Claude Code's file, and what reads it."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = Clock()
        self.secrets = KnownSecrets()
        self.file = tmp_path / ".claude" / ".credentials.json"
        self.sign_in = ClaudeSignIn(
            environ={"HOME": str(tmp_path)}, secrets=self.secrets, now=self.clock
        )
        self.server = TokenServer(
            refuse_to_ask, lambda at: Endpoint(provider="anthropic", base_url=at), self.secrets
        )

    def put(self, left_s: float = 3600.0, **more: object) -> None:
        inner = {
            "accessToken": TOKEN,
            "refreshToken": REFRESH,
            "expiresAt": int((self.clock.at + left_s) * 1000),
            **more,
        }
        write_private(self.file, {"claudeAiOauth": inner})

    async def fetch(self) -> Grant:
        return await self.sign_in.fetch(CONFIG, {}, self.server)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_token_goes_out_with_the_header_that_the_api_wants_and_no_other(bench: Bench) -> None:
    bench.put()
    grant = await bench.fetch()
    assert grant == Grant(token=TOKEN, headers={"anthropic-beta": "oauth-2025-04-20"})
    assert bench.secrets.hide(f"{TOKEN} {REFRESH}") == "*** ***"


async def test_file_is_read_again_before_each_use(bench: Bench) -> None:
    bench.put()
    await bench.fetch()
    bench.put(accessToken="sk-ant-oat01-another")
    assert (await bench.fetch()).token == "sk-ant-oat01-another"


async def test_over_says_to_run_claude_code_and_nobody_is_asked(bench: Bench) -> None:
    bench.put(left_s=-60)
    assert (await bench.fetch()).token == TOKEN  # a clock may be that wrong
    bench.put(left_s=-3600)
    with pytest.raises(NotConfigured, match="run `claude` once") as caught:
        await bench.fetch()
    assert "sign Claude Code out" in caught.value.message
    assert "canary" not in caught.value.message
    assert await bench.sign_in.renew(CONFIG, {}, bench.server) is None


async def test_standing_says_what_the_vendor_allows(bench: Bench) -> None:
    assert bench.sign_in.look(CONFIG, {}) is None
    bench.put()
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert standing.note == NOTE
    assert "Claude Code and Claude.ai only" in NOTE
    assert standing.valid_until_at == pytest.approx(bench.clock.at + 3600)
    assert not standing.renews


@pytest.mark.parametrize(
    "data",
    [{}, {"claudeAiOauth": []}, {"claudeAiOauth": {"accessToken": 5}},
     {"claudeAiOauth": {"accessToken": "", "refreshToken": 5}}],
)  # fmt: skip
async def test_file_without_a_sign_in(bench: Bench, data: object) -> None:
    write_private(bench.file, data)
    with pytest.raises(NotConfigured, match="run `claude` and sign in there"):
        await bench.fetch()


@pytest.mark.parametrize(
    "expires", [None, "soon", True, 10**400, math.nan, math.inf, -math.inf, -1, 0]
)
async def test_end_that_is_not_said(bench: Bench, expires: object) -> None:
    bench.put(expiresAt=expires)
    assert (await bench.fetch()).token == TOKEN
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert standing.valid_until_at is None


async def test_file_that_others_can_read(bench: Bench) -> None:
    bench.put()
    bench.file.chmod(0o640)
    with pytest.raises(NotConfigured, match=f"chmod 600 {bench.file}"):
        await bench.fetch()


def test_where_the_file_is(bench: Bench) -> None:
    assert bench.sign_in.find_path({}) == bench.file
    own = ClaudeSignIn(environ={"CLAUDE_CONFIG_DIR": "/c"}, secrets=bench.secrets, now=bench.clock)
    assert own.find_path({"HOME": "/h"}) == Path("/c/.credentials.json")
    bare = ClaudeSignIn(environ={}, secrets=bench.secrets, now=bench.clock)
    assert bare.find_path({"HOME": "/h"}) == Path("/h/.claude/.credentials.json")
