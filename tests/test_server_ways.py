"""Whose token goes to which server of tools, by settings and by sign-ins."""

from pathlib import Path
from typing import Any

import pytest

from askd.errors import Unavailable
from askd.providers.base import Endpoint, HttpCall
from askd.providers.credentials.server_sign_ins import ServerSignIn, ServerSignIns
from askd.providers.redact import MASK
from askd.server_ways import ServerTokens, make_http_way
from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.ways import Token
from tests.fakes.credentials import Desk, write_private
from tests.fakes.sign_in_servers import Said, say

URL = "https://docs.example/mcp"
TOKEN = "tok-canary-7-0123"


class Bench:
    """A home, and the tokens of its daemon."""

    def __init__(self, home: Path, environ: dict[str, str] | None = None, **said: Any) -> None:
        self.desk = Desk(home, environ=environ or {})
        self.credentials = self.desk.make(**said)
        self.sign_ins = ServerSignIns(
            home / "sign-ins", secrets=self.desk.secrets, now=self.desk.clock
        )
        self.answers: list[Said | Exception] = []
        self.credentials._ask = self.answer
        self.tokens = ServerTokens(
            self.sign_ins,
            environ=self.credentials.environ,
            credentials=lambda: self.credentials,
            secrets=self.desk.secrets,
        )
        self.asked: list[Endpoint] = []

    async def answer(self, endpoint: Endpoint, call: HttpCall) -> Said:
        self.asked.append(endpoint)
        said = self.answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    async def sign_in(self, **said: Any) -> None:
        usual: dict[str, Any] = {
            "url": URL,
            "token_url": "https://docs.example/token",
            "client_id": "c",
            "access_token": TOKEN,
            "refresh_token": f"{TOKEN}-refresh",
        }
        await self.sign_ins.keep("docs", ServerSignIn(**{**usual, **said}))
        self.sign_ins._renewals._got.clear()  # it was long ago


def make_config(**said: Any) -> ServerConfig:
    return ServerConfig(name="docs", **{"url": URL, **said})


async def test_a_variable_of_the_daemon(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"DOCS_TOKEN": f" {TOKEN}\n"})
    config = make_config(bearer_token_env="DOCS_TOKEN")
    token = await bench.tokens.fetch(config)
    assert token == Token(TOKEN, "settings")
    assert bench.desk.secrets.hide(TOKEN) == MASK
    assert await bench.tokens.renew(config, Token(TOKEN, "settings")) is None


async def test_a_variable_that_systemd_passes(tmp_path: Path) -> None:
    write_private(tmp_path / "passed" / "DOCS_TOKEN", TOKEN)
    bench = Bench(tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path / "passed")})
    token = await bench.tokens.fetch(make_config(bearer_token_env="DOCS_TOKEN"))
    assert token == Token(TOKEN, "settings")


async def test_a_variable_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"DOCS_TOKEN .* is not set for the daemon"):
        await Bench(tmp_path).tokens.fetch(make_config(bearer_token_env="DOCS_TOKEN"))


async def test_a_file_whose_token_changes(tmp_path: Path) -> None:
    file = write_private(tmp_path / "token", f"{TOKEN}\n")
    config = make_config(bearer_token_file=str(file))
    bench = Bench(tmp_path)
    first = await bench.tokens.fetch(config)
    assert first == Token(TOKEN, "settings")
    assert await bench.tokens.renew(config, first) is None
    write_private(file, f"{TOKEN}-2")
    assert await bench.tokens.renew(config, first) == Token(f"{TOKEN}-2", "settings")


@pytest.mark.parametrize(
    ("name", "content", "mode", "words"),
    [
        ("token", TOKEN, 0o644, "chmod 600"),
        ("token", "", 0o600, "empty"),
        ("token", "\N{SNOWMAN}", 0o600, "characters"),
        ("missing", None, 0, "No such file"),
        ("~nobody-of-that-name/x", None, 0, "nobody has that home"),
    ],
)
async def test_a_file_that_is_refused(
    tmp_path: Path, name: str, content: str | None, mode: int, words: str
) -> None:
    if content is not None:
        write_private(tmp_path / name, content, mode)
    path = name if name.startswith("~") else str(tmp_path / name)
    with pytest.raises(CannotRun, match=words) as caught:
        await Bench(tmp_path).tokens.fetch(make_config(bearer_token_file=path))
    assert TOKEN not in str(caught.value)


async def test_a_sign_in_is_used_where_the_settings_say_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"DOCS_TOKEN": "of-the-settings-123"})
    assert await bench.tokens.fetch(make_config()) is None
    await bench.sign_in()
    assert await bench.tokens.fetch(make_config()) == Token(TOKEN, "sign-in")
    assert await bench.tokens.fetch(make_config(url="https://evil.example/mcp")) is None
    own = await bench.tokens.fetch(make_config(bearer_token_env="DOCS_TOKEN"))
    assert own == Token("of-the-settings-123", "settings")
    assert await bench.tokens.fetch(make_config(headers={"AUTHORIZATION": "x"})) is None


async def test_a_sign_in_is_renewed_by_the_ways_of_the_house(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"https_proxy": "http://proxy.example:3128"})
    await bench.sign_in()
    bench.answers = [say(200, {"access_token": f"{TOKEN}-2"})]
    token = await bench.tokens.renew(make_config(), Token(TOKEN, "sign-in"))
    assert token == Token(f"{TOKEN}-2", "sign-in")
    assert bench.asked[0].proxy == "http://proxy.example:3128"


async def test_a_renewal_that_fails_is_a_sentence(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.sign_in()
    bench.answers = [Unavailable("docs: nobody there")]
    with pytest.raises(CannotRun, match="nobody there"):
        await bench.tokens.renew(make_config(), Token(TOKEN, "sign-in"))
    await bench.sign_in(valid_until_at=1.0, refresh_token=None)
    with pytest.raises(CannotRun, match="ask mcp login docs"):
        await bench.tokens.fetch(make_config())


def test_the_way_is_that_of_the_settings(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"https_proxy": "http://proxy.example:3128"})
    way = make_http_way(
        bench.tokens, credentials=lambda: bench.credentials, secrets=bench.desk.secrets
    )
    assert way.find_proxy("docs", URL) == "http://proxy.example:3128"
    assert way.find_proxy("docs", "http://127.0.0.1:9/mcp") is None
    bench.credentials.configure([], local_only=True)
    with pytest.raises(CannotRun, match=r"docs is reached at docs\.example, which is not this"):
        way.find_proxy("docs", URL)
    assert way.find_proxy("docs", "http://127.0.0.1:9/mcp") is None


def test_what_is_secret_of_the_settings_is_known(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    way = make_http_way(
        bench.tokens, credentials=lambda: bench.credentials, secrets=bench.desk.secrets
    )
    url = "https://me:pass-canary-1@docs.example/mcp?api_key=key-canary-2"
    headers = {"Authorization": "Bearer canary-3-token", "X-Api-Key": "canary-4-key"}
    way.learn(make_config(url=url, headers=headers))
    for secret in ("pass-canary-1", "key-canary-2", "canary-3-token", "canary-4-key"):
        assert way.hide(f"a {secret} b") == f"a {MASK} b"


@pytest.mark.parametrize(
    ("said", "has"),
    [
        ({}, False),
        ({"headers": {"X-Team": "blue"}}, False),
        ({"headers": {"authorization": "x"}}, True),
        ({"bearer_token_env": "A"}, True),
        ({"bearer_token_file": "a"}, True),
    ],
)
def test_whether_the_settings_say_what_is_sent(said: dict[str, Any], has: bool) -> None:
    assert make_config(**said).has_own_token is has


def test_what_is_secret_of_a_program_is_known(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    way = make_http_way(
        bench.tokens, credentials=lambda: bench.credentials, secrets=bench.desk.secrets
    )
    env = {"API_TOKEN": "t0ken-of-the-env"}
    way.learn(ServerConfig(name="p", command="p", args=("--key", "key-of-the-args-1"), env=env))
    assert way.hide("t0ken-of-the-env key-of-the-args-1 p") == f"{MASK} {MASK} p"
