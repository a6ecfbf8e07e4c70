"""The two ways to sign in, seen through: a browser that comes back, and a code to type."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest
import trio
from trio.testing import MockClock

from askd.errors import NotConfigured, RequestError, Unavailable
from askd.providers.base import Caller
from askd.providers.credentials import login_flows
from askd.providers.credentials.credentials import Credentials
from askd.providers.credentials.login_flows import (
    BrowserLogin,
    CodeLogin,
    begin_browser,
    begin_code,
    listen,
)
from askd.providers.credentials.logins import SignedIn
from tests.fakes.credentials import Desk
from tests.fakes.sign_in_servers import GitHub, OpenAI


def open_browser(desk: Desk) -> tuple[Credentials, OpenAI]:
    """A daemon and the server that it will ask."""
    server = OpenAI(desk.clock)
    desk.server = server
    return desk.make(), server


async def begin(credentials: Credentials) -> BrowserLogin:
    config = credentials.configs["chatgpt"]
    server = credentials.find_server(config, Caller())
    return await begin_browser(config, credentials.chatgpt, server)


async def visit(address: str) -> bytes:
    """What the browser shows in the end."""
    head, _, target = address.removeprefix("http://127.0.0.1:").partition("/")
    answer = b""
    async with await trio.open_tcp_stream("127.0.0.1", int(head)) as stream:
        await stream.send_all(f"GET /{target} HTTP/1.1\r\n\r\n".encode())
        while data := await stream.receive_some(4096):
            answer += data
    return answer


@pytest.fixture(autouse=True)
def _quick_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_flows, "PAGE_S", 0.01)


async def test_browser_comes_back(tmp_path: Path) -> None:
    credentials, server = open_browser(Desk(tmp_path))
    login = await begin(credentials)
    results: list[SignedIn] = []

    async def finish() -> None:
        results.append(await login.finish())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(finish)
        address = server.authorize(login.url)
        forged = address.replace("state=", "state=x")
        assert b"400 Bad Request" in await visit(forged)
        assert b"Go back to your terminal" in await visit(address)
    path = str(credentials.chatgpt.path)
    assert results == [SignedIn(account="ada@example.com", path=path)]
    assert (await credentials.fetch("chatgpt", Caller())).base_url == "https://api.openai.com/v1"
    with pytest.raises(OSError, match="all attempts to connect"):
        await visit(address)


async def test_address_is_pasted(tmp_path: Path) -> None:
    credentials, server = open_browser(Desk(tmp_path))
    login = await begin(credentials)
    assert login.can_paste
    assert login.user_code is None
    address = server.authorize(login.url)
    with pytest.raises(RequestError):
        login.take(address.replace("state=", "state=x"))
    assert login.take(address)
    assert login.take(address)  # again, by another client: nothing is asked twice
    assert (await login.finish()).account == "ada@example.com"
    assert server.violations == []


async def test_person_says_no(tmp_path: Path) -> None:
    credentials, server = open_browser(Desk(tmp_path))
    login = await begin(credentials)
    async with trio.open_nursery() as nursery:

        async def finish() -> None:
            with pytest.raises(NotConfigured, match="was not allowed"):
                await login.finish()

        nursery.start_soon(finish)
        address = server.authorize(login.url, allow=False)
        assert b"The sign-in failed" in await visit(address)
    assert login.take(address) is False  # late, and without effect


async def test_what_a_login_holds_is_not_shown(tmp_path: Path) -> None:
    credentials, server = open_browser(Desk(tmp_path))
    login = await begin(credentials)
    login.take(server.authorize(login.url))
    shown = repr(login)
    for secret in (login.attempt.state, login.attempt.verifier, "code-"):
        assert secret not in shown
    await login.finish()


async def test_server_that_cannot_be_reached_leaves_no_open_door(tmp_path: Path) -> None:
    credentials, server = open_browser(Desk(tmp_path))
    server.troubles = [Unavailable("no way there")]
    with pytest.raises(Unavailable):
        await begin(credentials)


async def test_no_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials, _ = open_browser(Desk(tmp_path))

    async def fail(port: int, *, host: str) -> list[trio.SocketListener]:
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr(trio, "open_tcp_listeners", fail)
    with pytest.raises(NotConfigured, match=r"127\.0\.0\.1: Cannot assign") as caught:
        await begin(credentials)
    assert caught.value.reason == "login_failed"


async def test_code_is_typed(tmp_path: Path, autojump_clock: MockClock) -> None:
    desk = Desk(tmp_path)
    github = GitHub(desk.clock, typed=True)
    desk.server = github
    credentials = desk.make()
    config = credentials.configs["copilot"]
    login: CodeLogin = await begin_code(
        config,
        credentials.copilot,
        credentials.find_server(config, Caller()),
        github_url="https://github.com",
    )
    assert (login.user_code, login.url) == ("ABCD-1234", "https://github.com/login/device")
    assert "secret" not in repr(login)
    with pytest.raises(RequestError, match="type the code"):
        login.take("anything")
    assert (await login.finish()).path == str(credentials.copilot.path)
    endpoint = await credentials.fetch("copilot", Caller())
    assert (endpoint.api_key or "").endswith("copilot-secret")


async def test_where_nothing_can_listen_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*args: object, **options: object) -> NoReturn:
        raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))

    monkeypatch.setattr(trio, "open_tcp_listeners", refuse)
    with pytest.raises(NotConfigured, match="docs: nothing can listen on 127"):
        async with listen("docs"):
            pass
