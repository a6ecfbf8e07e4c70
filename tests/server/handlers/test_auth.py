"""Credentials over the wire: said where they are, never what they are."""

import dataclasses
import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from ask.protocol.messages import AuthSet, AuthWait
from askd.providers.credentials.auth import Auth
from askd.providers.credentials.credentials import Credentials
from askd.providers.redact import KnownSecrets
from askd.server.dispatch import Dispatch
from tests.fakes.house import Refused, open_server
from tests.fakes.sign_ins import SECRET_WORD

KEY = f"{SECRET_WORD}-123"


async def test_a_key_is_kept_and_never_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_server() as server:
        peer = await server.greet()
        (work, chatgpt) = (await peer.call("auth/status"))["data"]
        assert (work["state"], work["source"]) == ("missing", None)
        assert chatgpt["valid_until_at"] == 5.0
        changed = await peer.call("auth/set", {"provider": "work", "key": KEY})
        assert changed == {"provider": "work", "changed": True, "path": "keys.json", "note": None}
        assert server.auth.keys == {"work": KEY}
        page = await peer.call(
            "auth/status", {"env": {"LANG": "C"}, "secrets": {"OPENAI_API_KEY": KEY}}
        )
        assert SECRET_WORD not in str(page)
        assert server.auth.callers[-1].secrets == {"OPENAI_API_KEY": KEY}
        assert server.auth.callers[-1].env == {"LANG": "C"}
        assert (await peer.call("auth/logout", {"provider": "work"}))["changed"] is True
        assert (await peer.call("auth/logout", {"provider": "work"}))["changed"] is False
    assert SECRET_WORD not in caplog.text


@pytest.mark.parametrize(
    "params",
    [
        {"provider": "nobody", "key": KEY},
        {"provider": "work", "key": f" {KEY}"},
        {"provider": "work", "key": KEY, "more": KEY},
        {"provider": "work", "key": [KEY]},
        {"provider": "work", "key": KEY.encode()},
        {"key": KEY},
    ],
)
async def test_no_refusal_repeats_a_key(
    params: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("auth/set", params)
        assert caught.value.code == 2
        assert SECRET_WORD not in f"{caught.value.message} {caught.value.data} {caplog.text}"
        assert server.auth.keys == {}


async def test_a_fault_of_ours_does_not_log_the_key(caplog: pytest.LogCaptureFixture) -> None:
    async with open_server() as server:
        peer = await server.greet()

        async def fail(provider: str, key: str) -> object:
            raise RuntimeError("a disk went away")

        server.auth.set_key = fail  # type: ignore[method-assign,assignment]
        with pytest.raises(Refused) as caught:
            await peer.call("auth/set", {"provider": "work", "key": KEY})
        assert caught.value.reason == "internal"
    assert "a disk went away" in caplog.text
    assert SECRET_WORD not in caplog.text


def test_what_is_secret_is_in_no_repr() -> None:
    for shown in (AuthSet(provider="p", key=KEY), AuthWait(login_id="l", pasted=KEY)):
        assert SECRET_WORD not in repr(shown)


async def test_a_sign_in_is_begun_waited_for_and_over(autojump_clock: trio.abc.Clock) -> None:
    async with open_server() as server:
        peer = await server.greet()
        begun = await peer.call("auth/login", {"provider": "chatgpt"})
        assert begun == {
            "login_id": "login-0",
            "url": "https://v/auth",
            "user_code": None,
            "can_paste": True,
            "expires_at": 900.0,
        }
        wait = {"login_id": begun["login_id"]}
        pending = {"state": "pending", "account": None, "path": None}
        assert await peer.call("auth/wait", {**wait, "timeout_s": 2}) == pending
        assert await peer.call("auth/wait", {**wait, "timeout_s": 1e9}) == pending
        assert await peer.call("auth/wait", {**wait, "timeout_s": -1}) == pending
        assert server.auth.waits == [2.0, 20.0, 0.0], "a client gives a request no longer"
        server.auth.confirmed.set()
        done = {"state": "done", "account": "me@here", "path": "auth.json"}
        assert await peer.call("auth/wait", wait) == done
        with pytest.raises(Refused) as caught:
            await peer.call("auth/wait", wait)
        assert (caught.value.code, caught.value.reason) == (3, "login_not_found")


async def test_the_address_that_a_browser_ended_at_can_be_given() -> None:
    async with open_server() as server:
        peer = await server.greet()

        async def paste(login_id: str, address: str) -> dict[str, object]:
            params = {"login_id": login_id, "pasted": address}
            answer: dict[str, object] = await peer.call("auth/wait", params)
            return answer

        first = (await peer.call("auth/login", {"provider": "chatgpt"}))["login_id"]
        with pytest.raises(Refused) as caught:
            await paste(first, "https://somewhere/else")
        assert caught.value.reason == "bad_params"
        assert (await paste(first, "http://localhost/?code=ok"))["state"] == "done"
        second = (await peer.call("auth/login", {"provider": "chatgpt"}))["login_id"]
        with pytest.raises(Refused) as caught:
            await paste(second, "http://localhost/?error=x")
        assert (caught.value.code, caught.value.reason) == (4, "login_failed")


async def test_the_real_room_speaks_the_contract(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def ask(*_: object) -> Any:
        raise AssertionError("nobody is asked")

    credentials = Credentials(
        [],
        environ={"HOME": str(tmp_path)},
        child_env={},
        local_only=False,
        directory=tmp_path / "kept",
        ask=ask,
        secrets=KnownSecrets(),
        now=lambda: 1000.0,
    )
    auth = Auth(lambda: credentials, new_id=lambda: "login-1")
    async with open_server() as server:
        server.dispatch = Dispatch(dataclasses.replace(server.house, auth=auth))
        peer = await server.greet()
        changed = await peer.call("auth/set", {"provider": "openai", "key": KEY})
        assert changed["changed"] is True
        assert KEY in await trio.Path(changed["path"]).read_text()
        (openai,) = [
            row for row in (await peer.call("auth/status"))["data"] if row["provider"] == "openai"
        ]
        assert openai["state"] == "ready"
        assert openai["source"]
        assert (await peer.call("auth/logout", {"provider": "openai"}))["changed"] is True
        for method, params in (
            ("auth/set", {"provider": "nobody", "key": KEY}),
            ("auth/set", {"provider": "openai", "key": f"{KEY}\n{KEY}"}),
            ("auth/login", {"provider": "openai"}),
            ("auth/wait", {"login_id": "login-0"}),
        ):
            with pytest.raises(Refused) as caught:
                await peer.call(method, params)
            assert SECRET_WORD not in f"{caught.value.message} {caught.value.data}"
    assert SECRET_WORD not in caplog.text
