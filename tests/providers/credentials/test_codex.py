"""Codex's sign-in: its file, and a refresh token that is good once."""

import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from askd.errors import NotConfigured, Unavailable
from askd.providers.base import Endpoint
from askd.providers.credentials import codex
from askd.providers.credentials.codex import BACKEND_URL, CodexSignIn, merge_answer, read_tokens
from askd.providers.credentials.sign_in import Grant
from askd.providers.credentials.token_server import Answer, TokenServer
from askd.providers.redact import KnownSecrets
from tests.fakes.credentials import Clock, make_config, write_private
from tests.fakes.sign_in_servers import OpenAI, Said, make_jwt, say

CONFIG = make_config("chatgpt", auth="chatgpt")
HOUR = 3600.0
UNKNOWN = {"auth_mode": "chatgpt", "agent_identity": {"x": [1, 2]}, "naïve": "é"}


class Bench:
    """A home with Codex's file, a server, and what reads the one and asks the other."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = Clock()
        self.server = OpenAI(self.clock)
        self.secrets = KnownSecrets()
        self.home = tmp_path
        self.file = tmp_path / ".codex" / "auth.json"
        self.sign_in = self.restart()

    def restart(self) -> CodexSignIn:
        """As if the daemon had just begun."""
        return CodexSignIn(
            environ={"HOME": str(self.home)},
            refresh_url="https://auth.openai.com/oauth/token",
            secrets=self.secrets,
            now=self.clock,
        )

    def put(self, *, left_s: float = HOUR, **more: Any) -> dict[str, Any]:
        """Write the file as Codex does, its access token good for `left_s`."""
        tokens = self.server.grant(client_id=codex.CLIENT_ID)
        tokens["access_token"] = make_jwt(exp=self.clock.at + left_s, jti=os.urandom(4).hex())
        kept = {name: tokens[name] for name in ("id_token", "access_token", "refresh_token")}
        data = {"OPENAI_API_KEY": None, "tokens": {**kept, "account_id": "acc-9"}, **more}
        write_private(self.file, data)
        return data

    def read(self) -> Any:
        """What is in the file."""
        return json.loads(self.file.read_text())

    def ask(self) -> TokenServer:
        return TokenServer(
            self.server, lambda at: Endpoint(provider="chatgpt", base_url=at), self.secrets
        )

    async def fetch(self, sign_in: CodexSignIn | None = None) -> Grant:
        return await (sign_in or self.sign_in).fetch(CONFIG, {}, self.ask())

    async def renew(self) -> Grant | None:
        return await self.sign_in.renew(CONFIG, {}, self.ask())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_good_token_is_used_as_it_is(bench: Bench) -> None:
    data = bench.put()
    grant = await bench.fetch()
    assert grant.token == data["tokens"]["access_token"]
    assert grant.base_url == BACKEND_URL
    assert grant.headers == {"ChatGPT-Account-ID": "acc-9", "originator": "askd"}
    assert bench.server.calls == []
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert standing.source == str(bench.file)
    assert standing.account == "ada@example.com"
    assert standing.valid_until_at == bench.clock.at + HOUR
    assert "codex logout" in (standing.note or "")


async def test_nobody_is_signed_in(bench: Bench) -> None:
    assert bench.sign_in.look(CONFIG, {}) is None
    for data in ({}, {"tokens": None}, {"tokens": {"access_token": ""}}):
        write_private(bench.file, data)
        with pytest.raises(NotConfigured, match="`ask auth login chatgpt`, or `codex login`"):
            await bench.fetch()


async def test_key_in_the_file_is_used_where_there_are_no_tokens(bench: Bench) -> None:
    write_private(bench.file, {"OPENAI_API_KEY": "sk-of-codex", "tokens": None})
    assert await bench.fetch() == Grant(token="sk-of-codex")
    assert await bench.renew() is None
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert "an API key" in standing.source
    assert "sk-of-codex" not in bench.secrets.hide("sk-of-codex")


def test_where_the_file_is(tmp_path: Path, bench: Bench) -> None:
    sign_in = bench.sign_in
    assert sign_in.find_path({}) == bench.file
    assert sign_in.find_path({"CODEX_HOME": "/c"}) == Path("/c/auth.json")
    own = CodexSignIn(
        environ={"CODEX_HOME": "/d", "HOME": "/h"},
        refresh_url="",
        secrets=bench.secrets,
        now=bench.clock,
    )
    assert own.find_path({}) == Path("/d/auth.json")
    assert own.find_path({"CODEX_HOME": "/c"}) == Path("/c/auth.json")


async def test_ending_token_is_renewed_and_written_as_codex_does(bench: Bench) -> None:
    before = bench.put(left_s=60, **UNKNOWN)
    grant = await bench.fetch()
    after = bench.read()
    assert grant.token == after["tokens"]["access_token"] != before["tokens"]["access_token"]
    assert after["tokens"]["refresh_token"] in bench.server.live
    assert after["tokens"]["account_id"] == "acc-9"
    assert {name: after[name] for name in UNKNOWN} == UNKNOWN
    assert after["OPENAI_API_KEY"] is None
    assert after["last_refresh"] == "2027-01-15T08:00:00Z"
    assert list(after) == [*before, "last_refresh"]
    assert bench.file.read_text().startswith('{\n  "OPENAI_API_KEY": null,\n')
    assert stat.S_IMODE(bench.file.stat().st_mode) == 0o600
    assert bench.server.violations == []
    hidden = bench.secrets.hide(bench.file.read_text())
    assert after["tokens"]["refresh_token"] not in hidden
    assert after["tokens"]["access_token"] not in hidden


async def test_text_that_is_no_unicode_is_written_as_it_was(bench: Bench) -> None:
    bench.put(left_s=60, odd="\ud800 é")
    grant = await bench.fetch()
    assert bench.read()["odd"] == "\ud800 é"
    assert grant.token == bench.read()["tokens"]["access_token"]


async def test_link_stays_a_link(bench: Bench, tmp_path: Path) -> None:
    bench.put(left_s=60)
    real = tmp_path / "elsewhere.json"
    bench.file.rename(real)
    bench.file.symlink_to(real)
    await bench.fetch()
    assert bench.file.is_symlink()
    assert "last_refresh" in json.loads(real.read_text())


async def test_refused_token_is_renewed_once_for_all(bench: Bench) -> None:
    bench.put()
    await bench.fetch()
    grants: list[Grant | None] = []

    async def renew() -> None:
        grants.append(await bench.renew())

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(renew)
    assert len({each.token for each in grants if each}) == 1
    assert bench.server.count("/oauth/token") == 1
    assert bench.server.violations == []


async def test_many_at_once_renew_once(bench: Bench) -> None:
    bench.put(left_s=60)
    tokens: set[str] = set()
    others = [bench.restart() for _ in range(3)]  # other daemons of the same user

    async def fetch(sign_in: CodexSignIn) -> None:
        tokens.add((await bench.fetch(sign_in)).token)

    async with trio.open_nursery() as nursery:
        for each in [bench.sign_in, bench.sign_in, *others]:
            nursery.start_soon(fetch, each)
    assert len(tokens) == 1
    assert bench.server.count("/oauth/token") == 1
    assert bench.server.violations == []


async def test_another_process_renews_meanwhile(bench: Bench, autojump_clock: MockClock) -> None:
    bench.put(left_s=60)
    lock = os.open(f"{bench.file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    grants: list[Grant] = []

    async def fetch() -> None:
        grants.append(await bench.fetch())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch)
        await trio.sleep(3)
        theirs = bench.put(left_s=HOUR)
        os.close(lock)
    assert grants[0].token == theirs["tokens"]["access_token"]
    assert bench.server.calls == []


async def test_codex_writes_while_we_ask(bench: Bench) -> None:
    bench.put(left_s=60)
    bench.server.hold = trio.Event()
    grants: list[Grant] = []

    async def fetch() -> None:
        grants.append(await bench.fetch())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch)
        await trio.testing.wait_all_tasks_blocked()
        theirs = bench.put(left_s=HOUR, who="somebody else")
        bench.server.hold.set()
    assert grants[0].token == theirs["tokens"]["access_token"]
    assert bench.read() == theirs


async def test_used_token_says_to_sign_in_again_and_is_not_sent_twice(bench: Bench) -> None:
    data = bench.put(left_s=-HOUR)
    bench.server.live.clear()
    for _ in range(2):
        with pytest.raises(NotConfigured, match="sign in again with `codex login`") as caught:
            await bench.fetch()
        assert data["tokens"]["refresh_token"] not in caught.value.message
    assert bench.server.count("/oauth/token") == 1
    assert bench.read() == data
    bench.put()  # they have signed in again
    await bench.fetch()


async def test_token_that_cannot_be_renewed_is_used_until_its_end(bench: Bench) -> None:
    data = bench.put(left_s=60)
    bench.server.live.clear()
    assert (await bench.fetch()).token == data["tokens"]["access_token"]
    bench.clock.at += 60 + 4 * 60  # over, but a clock may be that wrong
    assert (await bench.fetch()).token == data["tokens"]["access_token"]
    bench.clock.at += 2 * 60
    with pytest.raises(NotConfigured):
        await bench.fetch()
    with pytest.raises(NotConfigured):
        await bench.renew()


@pytest.mark.parametrize(
    "trouble",
    [Unavailable("no way there"), say(503, {}), Said(502, b"<html>"),
     # A network that wants a login, a proxy that blocks or wants a name: none is OpenAI.
     Said(302, b""), Said(403, b"<html>"), Said(404, b"<html>"), Said(407, b"")],
)  # fmt: skip
async def test_trouble_on_the_way_spoils_nothing(bench: Bench, trouble: Said | Exception) -> None:
    data = bench.put(left_s=60)
    bench.server.troubles = [trouble]
    assert (await bench.fetch()).token == data["tokens"]["access_token"]
    bench.clock.at += HOUR
    bench.server.troubles = [trouble]
    with pytest.raises(Unavailable):
        await bench.fetch()
    assert bench.read() == data
    assert (await bench.fetch()).token != data["tokens"]["access_token"]


async def test_clock_that_is_ahead_renews_once_and_not_at_every_use(bench: Bench) -> None:
    bench.put(left_s=HOUR)
    bench.clock.at += 100 * HOUR
    server = bench.server
    server.life_s = -50 * HOUR  # what the server gives looks over to us
    first = await bench.fetch()
    assert (await bench.fetch()).token == first.token
    assert server.count("/oauth/token") == 1


async def test_token_that_does_not_say_when_it_ends(bench: Bench) -> None:
    data = bench.put(last_refresh="2027-01-14T08:00:00.123456789Z")
    data["tokens"]["access_token"] = "opaque-token"
    write_private(bench.file, data)
    assert (await bench.fetch()).token == "opaque-token"
    data["last_refresh"] = "2027-01-05T08:00:00Z"
    write_private(bench.file, data)
    assert (await bench.fetch()).token != "opaque-token"
    for odd in ("yesterday", 5, None):
        write_private(bench.file, {**data, "last_refresh": odd})
        assert (await bench.fetch()).token == "opaque-token"


async def test_disk_that_is_full_loses_no_token(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = bench.put(left_s=60)

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(codex, "replace_file", fail)
        grant = await bench.fetch()
    assert bench.read() == before
    assert "cannot be written: No space left" in caplog.text
    assert grant.token not in caplog.text
    assert (await bench.fetch()).token == grant.token  # from memory, and written now
    assert bench.read()["tokens"]["access_token"] == grant.token
    assert bench.server.violations == []


async def test_unsaved_token_gives_way_to_a_new_sign_in(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(left_s=60)

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(codex, "replace_file", fail)
        await bench.fetch()
    theirs = bench.put()
    assert (await bench.fetch()).token == theirs["tokens"]["access_token"]
    assert bench.read() == theirs


async def test_directory_that_cannot_be_written_is_seen_before_the_token_is_spent(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bench.put(left_s=60)
    (bench.file.parent / "auth.json.lock").mkdir()
    assert (await bench.fetch()).token == data["tokens"]["access_token"]
    with pytest.raises(NotConfigured, match=r"cannot be renewed: .*Is a directory"):
        await bench.renew()
    assert bench.server.calls == []


async def test_who_is_cancelled_while_the_answer_is_on_its_way_has_it_written(
    bench: Bench,
) -> None:
    bench.put(left_s=60)
    bench.server.late = trio.Event()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.fetch)
            await trio.testing.wait_all_tasks_blocked()
            assert bench.server.used  # the old one is spent
            scope.cancel()
            bench.server.late.set()
    assert bench.read()["tokens"]["refresh_token"] in bench.server.live


async def test_file_that_others_can_read(bench: Bench) -> None:
    bench.put()
    bench.file.chmod(0o644)
    with pytest.raises(NotConfigured, match=f"chmod 600 {bench.file}"):
        await bench.fetch()


def test_account_is_also_in_the_id_token() -> None:
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": "acc-2"}}
    tokens = {"access_token": "a", "id_token": make_jwt(**claims)}
    assert read_tokens({"tokens": tokens}).account_id == "acc-2"
    assert read_tokens({"tokens": {**tokens, "id_token": "x"}}).account_id is None
    assert "secret" not in repr(read_tokens({"OPENAI_API_KEY": "secret"}))


def test_answer_without_all_tokens_keeps_the_old_ones() -> None:
    answer = Answer(status=200, data={"access_token": "new"})
    merged = merge_answer({"tokens": {"refresh_token": "old"}, "x": 1}, answer, 0.0)
    assert merged["tokens"] == {"id_token": None, "access_token": "new", "refresh_token": "old"}
    assert merged["x"] == 1


async def test_account_that_fits_no_header_is_left_out(bench: Bench) -> None:
    data = bench.put()
    data["tokens"]["account_id"] = "acc\r\nx: y"
    write_private(bench.file, data)
    assert (await bench.fetch()).headers == {"originator": "askd"}
