"""Credentials over the wire: said where they are, never what they are."""

import dataclasses
import logging

import pytest
import trio

from ask.protocol.messages import AuthSet, AuthWait
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
        for address, code in (("http://localhost/?code=ok", 0), ("http://localhost/?error=x", 4)):
            begun = await peer.call("auth/login", {"provider": "chatgpt"})
            params = {"login_id": begun["login_id"], "pasted": address}
            if code == 0:
                assert (await peer.call("auth/wait", params))["state"] == "done"
                continue
            with pytest.raises(Refused) as caught:
                await peer.call("auth/wait", params)
            assert (caught.value.code, caught.value.reason) == (4, "login_failed")


async def test_a_house_without_credentials_says_so() -> None:
    async with open_server() as server:
        bare = dataclasses.replace(server.house, auth=None)
        server.dispatch = Dispatch(bare)
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("auth/status")
        assert caught.value.code == 4
