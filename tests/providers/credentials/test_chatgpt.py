"""Our own sign-in with ChatGPT: the dance with the browser, and tokens that rotate."""

import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trio

from askd.errors import NotConfigured, ProviderError, Unavailable
from askd.providers.base import Endpoint
from askd.providers.credentials import chatgpt_file
from askd.providers.credentials.chatgpt import ISSUER, ChatGPTSignIn
from askd.providers.credentials.chatgpt_file import ChatGPTFile, Kept
from askd.providers.credentials.codex import CodexSignIn
from askd.providers.credentials.oauth import make_attempt, read_return
from askd.providers.credentials.sign_in import Grant
from askd.providers.credentials.token_server import TokenServer
from askd.providers.redact import KnownSecrets
from tests.fakes.credentials import Clock, make_config, write_private
from tests.fakes.sign_in_servers import OpenAI, Said, make_jwt, say

CONFIG = make_config("chatgpt", auth="chatgpt")
BACK = "http://127.0.0.1:4000/auth/callback"
HOUR = 3600.0


class Bench:
    """A directory of ours, a server, and what reads the one and asks the other."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = Clock()
        self.server = OpenAI(self.clock)
        self.secrets = KnownSecrets()
        self.home = tmp_path
        self.file = ChatGPTFile(tmp_path / "ask" / "chatgpt.json", self.secrets)
        self.sign_in = self.restart()

    def restart(self, issuer: str = ISSUER) -> ChatGPTSignIn:
        """As if the daemon had just begun."""
        codex = CodexSignIn(
            environ={"HOME": str(self.home)},
            refresh_url="https://auth.openai.com/oauth/token",
            secrets=self.secrets,
            now=self.clock,
        )
        return ChatGPTSignIn(
            self.file.path, codex=codex, issuer=issuer, secrets=self.secrets, now=self.clock
        )

    def ask(self) -> TokenServer:
        return TokenServer(
            self.server, lambda at: Endpoint(provider="chatgpt", base_url=at), self.secrets
        )

    async def sign_in_now(self, *, allow: bool = True) -> str | None:
        """The whole dance."""
        attempt = make_attempt()
        url = await self.sign_in.prepare(self.ask(), attempt, BACK)
        returned = read_return(self.server.authorize(url, allow=allow), attempt)
        return await self.sign_in.finish(
            "chatgpt", self.ask(), attempt=attempt, returned=returned, redirect_uri=BACK
        )

    async def fetch(self, sign_in: ChatGPTSignIn | None = None) -> Grant:
        return await (sign_in or self.sign_in).fetch(CONFIG, {}, self.ask())

    async def renew(self) -> Grant | None:
        return await self.sign_in.renew(CONFIG, {}, self.ask())

    def text(self) -> str:
        """What is on the disk."""
        return self.file.path.read_text()

    def make_unlockable(self) -> None:
        """Nothing can be locked, as in a directory that cannot be written."""
        Path(f"{self.file.path}.lock").mkdir()

    def kept(self) -> Kept:
        kept = self.file.read()
        assert kept is not None
        return kept


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_first_sign_in_and_its_use(bench: Bench) -> None:
    assert await bench.sign_in_now() == "ada@example.com"
    kept = bench.kept()
    assert kept.client_id == "oaiapp_1"
    assert kept.host_id.startswith("urn:uuid:")
    assert stat.S_IMODE(bench.file.path.stat().st_mode) == 0o600
    grant = await bench.fetch()
    # The usual address, no headers.
    assert grant == Grant(token=kept.access_token or "", account="ada@example.com")
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert (standing.source, standing.account) == (str(bench.file.path), "ada@example.com")
    assert standing.valid_until_at == bench.clock.at + HOUR
    assert bench.server.violations == []


async def test_next_sign_in_is_the_same_client_on_the_same_machine(bench: Bench) -> None:
    await bench.sign_in_now()
    first = bench.kept()
    await bench.sign_in_now()
    assert (bench.kept().client_id, bench.kept().host_id) == (first.client_id, first.host_id)
    assert bench.kept().access_token != first.access_token


async def test_logging_out_keeps_only_whose_machine_it_is(bench: Bench) -> None:
    assert not await bench.sign_in.log_out()
    await bench.sign_in_now()
    host_id = bench.kept().host_id
    assert await bench.sign_in.log_out()
    assert bench.kept() == Kept(host_id=host_id)
    assert not await bench.sign_in.log_out()
    with pytest.raises(NotConfigured, match="nobody is signed in"):
        await bench.fetch()


async def test_without_ours_it_is_codexs(bench: Bench) -> None:
    assert bench.sign_in.look(CONFIG, {}) is None
    token = make_jwt(exp=bench.clock.at + HOUR)
    codex = write_private(bench.home / ".codex" / "auth.json", {"tokens": {"access_token": token}})
    standing = bench.sign_in.look(CONFIG, {})
    assert standing is not None
    assert standing.source == str(codex)
    assert (await bench.fetch()).token == token
    with pytest.raises(NotConfigured, match="codex login"):  # it has no refresh token
        await bench.renew()
    await bench.sign_in_now()
    assert (await bench.fetch()).token == bench.kept().access_token


async def test_renewed_before_its_end_and_once_for_all(bench: Bench) -> None:
    await bench.sign_in_now()
    before = bench.kept()
    bench.clock.at += HOUR - 60
    tokens: set[str] = set()

    async def fetch(sign_in: ChatGPTSignIn) -> None:
        tokens.add((await bench.fetch(sign_in)).token)

    async with trio.open_nursery() as nursery:
        for each in (bench.sign_in, bench.sign_in, bench.restart(), bench.restart()):
            nursery.start_soon(fetch, each)
    assert tokens == {bench.kept().access_token}
    assert bench.kept().access_token != before.access_token
    assert bench.kept().refresh_token in bench.server.live
    assert bench.kept().account == "ada@example.com"
    assert list(bench.server.used) == [before.refresh_token]
    assert bench.server.violations == []


async def test_refused_token_is_renewed_once_for_all(bench: Bench) -> None:
    await bench.sign_in_now()
    before = bench.kept()
    grants: list[Grant | None] = []

    async def renew() -> None:
        grants.append(await bench.renew())

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(renew)
    assert {each.token for each in grants if each} == {bench.kept().access_token}
    assert bench.kept().access_token != before.access_token
    assert len(bench.server.used) == 1


async def test_used_refresh_token_says_to_sign_in_again(bench: Bench) -> None:
    await bench.sign_in_now()
    refresh = bench.kept().refresh_token or ""
    bench.server.live.clear()
    with pytest.raises(NotConfigured, match=r"already used.*`ask auth login chatgpt`") as caught:
        await bench.renew()
    assert refresh not in caught.value.message
    bench.clock.at += HOUR - 60
    assert (await bench.fetch()).token == bench.kept().access_token  # good until its end
    bench.clock.at += HOUR
    with pytest.raises(NotConfigured):
        await bench.fetch()


async def test_without_a_refresh_token_it_ends(bench: Bench) -> None:
    await bench.file.write(
        Kept(host_id="urn:uuid:1", access_token="access-1", valid_until_at=bench.clock.at - 60)
    )
    assert (await bench.fetch()).token == "access-1"  # a clock may be that wrong
    bench.clock.at += HOUR
    with pytest.raises(NotConfigured, match="this machine's clock says"):
        await bench.fetch()


@pytest.mark.parametrize("trouble", [Unavailable("no way there"), say(503, {})])
async def test_trouble_on_the_way_spoils_nothing(bench: Bench, trouble: Said | Exception) -> None:
    await bench.sign_in_now()
    before = bench.kept()
    bench.clock.at += HOUR - 60
    bench.server.troubles = [trouble, trouble]
    assert (await bench.fetch()).token == before.access_token
    bench.clock.at += HOUR
    bench.server.troubles = [trouble, trouble]
    with pytest.raises(Unavailable):
        await bench.fetch()
    assert bench.kept() == before


async def test_who_is_cancelled_while_the_answer_is_on_its_way_has_it_written(
    bench: Bench,
) -> None:
    await bench.sign_in_now()
    bench.clock.at += HOUR - 60
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.fetch)
            while not bench.server.count("oauth/token") > 1:
                await trio.lowlevel.checkpoint()
            bench.server.late = trio.Event()
            await trio.testing.wait_all_tasks_blocked()
            assert bench.server.used
            scope.cancel()
            bench.server.late.set()
    assert bench.kept().refresh_token in bench.server.live


async def test_directory_that_cannot_be_written(bench: Bench) -> None:
    await bench.sign_in_now()
    bench.make_unlockable()
    with pytest.raises(NotConfigured, match=r"cannot be renewed: .*Is a directory"):
        await bench.renew()


async def test_disk_that_is_full_loses_no_token(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.sign_in_now()
    before = bench.text()
    bench.clock.at += HOUR - 60

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(chatgpt_file, "replace_file", fail)
        grant = await bench.fetch()
        assert (await bench.fetch()).token == grant.token
    assert bench.text() == before
    assert "cannot be written: No space left" in caplog.text
    assert (await bench.fetch()).token == grant.token  # from memory, and written now
    assert bench.kept().access_token == grant.token
    assert bench.server.violations == []


async def test_unsaved_token_gives_way_to_a_new_sign_in(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.sign_in_now()
    bench.clock.at += HOUR - 60

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(chatgpt_file, "replace_file", fail)
        await bench.fetch()
    await bench.sign_in_now()
    theirs = bench.kept()
    assert (await bench.fetch()).token == theirs.access_token
    assert bench.kept() == theirs


# ---- sign-ins that fail -----------------------------------------------------------


async def test_no_is_no(bench: Bench) -> None:
    with pytest.raises(NotConfigured, match="was not allowed") as caught:
        await bench.sign_in_now(allow=False)
    assert caught.value.reason == "login_failed"
    assert bench.kept().access_token is None


async def test_plan_that_may_not_be_used(bench: Bench) -> None:
    bench.server.scope = "openid profile email offline_access"
    with pytest.raises(NotConfigured, match="plan may not be used") as caught:
        await bench.sign_in_now()
    assert caught.value.reason == "login_failed"
    assert bench.kept().access_token is None


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (say(400, {"error": "invalid_grant", "error_description": "Bad code."}), NotConfigured),
        (say(200, {"token_type": "Bearer"}), NotConfigured),
        (
            say(200, {"access_token": "a-1", "id_token": make_jwt(nonce="of another")}),
            NotConfigured,
        ),
        (say(200, {"access_token": "a-1", "id_token": make_jwt(aud="another")}), NotConfigured),
        (say(503, {}), Unavailable),
        (Unavailable("no way there"), Unavailable),
    ],
)
async def test_answers_that_are_no_sign_in(
    bench: Bench, trouble: Said | Exception, kind: type[ProviderError]
) -> None:
    attempt = make_attempt()
    url = await bench.sign_in.prepare(bench.ask(), attempt, BACK)
    returned = read_return(bench.server.authorize(url), attempt)
    discovery = say(200, {})
    bench.server.troubles = [discovery, trouble]
    with pytest.raises(kind) as caught:
        await bench.sign_in.finish(
            "chatgpt", bench.ask(), attempt=attempt, returned=returned, redirect_uri=BACK
        )
    assert kind is Unavailable or caught.value.reason == "login_failed"
    assert returned.code not in caught.value.message
    assert bench.kept().access_token is None


async def test_another_verifier_is_refused_by_the_server(bench: Bench) -> None:
    attempt, other = make_attempt(), make_attempt()
    url = await bench.sign_in.prepare(bench.ask(), attempt, BACK)
    returned = read_return(bench.server.authorize(url), attempt)
    with pytest.raises(NotConfigured, match="Bad code"):
        await bench.sign_in.finish(
            "chatgpt", bench.ask(), attempt=other, returned=returned, redirect_uri=BACK
        )
    assert bench.server.violations == ["exchange"]


async def test_client_must_be_issued(bench: Bench) -> None:
    attempt = make_attempt()
    url = await bench.sign_in.prepare(bench.ask(), attempt, BACK)
    back = bench.server.authorize(url, client_id="dynamic_agent_client")
    with pytest.raises(NotConfigured, match="issued no client"):
        await bench.sign_in.finish(
            "chatgpt",
            bench.ask(),
            attempt=attempt,
            returned=read_return(back, attempt),
            redirect_uri=BACK,
        )


# ---- discovery --------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        say(404, {}),
        Said(200, b"<html>"),
        say(200, {"authorization_endpoint": "https://evil.example/a", "token_endpoint": 5}),
        say(200, {"authorization_endpoint": "http://auth.openai.com/a"}),
        say(200, {"authorization_endpoint": "https://[auth.openai.com/a"}),
    ],
)
async def test_discovery_is_believed_only_about_its_own_host(bench: Bench, said: Said) -> None:
    bench.server.troubles = [said]
    url = await bench.sign_in.prepare(bench.ask(), make_attempt(), BACK)
    assert url.startswith("https://auth.openai.com/api/accounts/authorize?")


async def test_discovery_may_name_other_paths(bench: Bench) -> None:
    issuer = "http://127.0.0.1:9"
    bench.server.troubles = [say(200, {"authorization_endpoint": f"{issuer}/elsewhere"})]
    url = await bench.restart(issuer).prepare(bench.ask(), make_attempt(), BACK)
    assert url.startswith(f"{issuer}/elsewhere?")
    assert parse_qs(urlsplit(url).query)["agent_name_hint"] == ["ask"]


async def test_nothing_secret_is_shown(bench: Bench) -> None:
    await bench.sign_in_now()
    kept = bench.kept()
    text = bench.secrets.hide(f"{bench.file.path.read_text()} {bench.server.codes}")
    for secret in (kept.access_token, kept.refresh_token):
        assert secret
        assert secret not in text
        assert secret not in repr(kept)
