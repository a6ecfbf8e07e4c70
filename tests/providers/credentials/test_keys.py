"""API keys: where they come from, in which order, and what is kept."""

import json
import stat
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from askd.errors import NotConfigured, RequestError
from askd.providers.credentials.keys import Keys, check_key
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets
from tests.fakes.credentials import make_config, write_private

THEIRS = {"WORK_KEY": "wk-of-the-caller"}
CHILD_ENV = {"PATH": "/usr/bin:/bin"}


def make_keys(
    tmp_path: Path, environ: dict[str, str] | None = None, secrets: KnownSecrets | None = None
) -> Keys:
    """The keys of a daemon with these variables."""
    return Keys(
        tmp_path / "ask",
        environ=environ or {},
        child_env=CHILD_ENV,
        secrets=KnownSecrets() if secrets is None else secrets,
    )


def source_of(keys: Keys, config: ProviderConfig, secrets: dict[str, str]) -> tuple[str, str]:
    """The key and where it is from."""
    key = keys.find(config, secrets)
    assert key is not None
    return key.value, key.source


async def test_each_source_goes_before_the_next(tmp_path: Path) -> None:
    passed = tmp_path / "passed"
    own = write_private(tmp_path / "own", "wk-of-the-file\n")
    write_private(passed / "WORK_KEY", "wk-of-systemd")
    config = make_config(
        api_key_env="WORK_KEY", api_key_file=str(own), api_key_cmd=("echo", "wk-of-a-command")
    )
    full = {"WORK_KEY": "wk-of-the-daemon", "CREDENTIALS_DIRECTORY": str(passed)}
    keys = make_keys(tmp_path, full)
    await keys.keep("work", "wk-that-was-kept")
    assert source_of(keys, config, THEIRS) == ("wk-of-the-caller", "WORK_KEY in your environment")
    assert source_of(keys, config, {}) == (
        "wk-of-the-daemon",
        "WORK_KEY in the daemon's environment",
    )
    del full["WORK_KEY"]
    keys = make_keys(tmp_path, full)
    assert source_of(keys, config, {}) == ("wk-of-systemd", f"{passed}/WORK_KEY")
    keys = make_keys(tmp_path)
    assert source_of(keys, config, {}) == ("wk-that-was-kept", str(keys.path))
    await keys.drop("work")
    assert source_of(keys, config, {}) == ("wk-of-the-file", str(own))
    key = await keys.fetch(make_config(api_key_cmd=config.api_key_cmd), {})
    assert key is not None
    assert (key.value, key.source) == ("wk-of-a-command", "api_key_cmd")


def test_systemd_may_name_the_provider(tmp_path: Path) -> None:
    write_private(tmp_path / "work", "wk-of-systemd")
    keys = make_keys(tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert source_of(keys, make_config(api_key_env="WORK_KEY"), {})[0] == "wk-of-systemd"
    assert keys.find(make_config(api_key_cmd=("false",)), {}) is None  # it has only that


async def test_nobody_has_one(tmp_path: Path) -> None:
    assert make_keys(tmp_path, {"OTHER": "x"}).find(make_config(api_key_env="WORK_KEY"), {}) is None
    assert await make_keys(tmp_path).fetch(make_config(), THEIRS) is None


async def test_keys_are_not_shown_and_are_hidden_from_then_on(tmp_path: Path) -> None:
    secrets = KnownSecrets()
    keys = make_keys(tmp_path, secrets=secrets)
    key = keys.find(make_config(api_key_env="WORK_KEY"), THEIRS)
    assert "wk-of" not in repr(key)
    await keys.keep("work", "wk-that-was-kept")
    await keys.fetch(make_config("cmd", api_key_cmd=("echo", "wk-of-a-command")), {})
    text = "wk-of-the-caller wk-that-was-kept wk-of-a-command"
    assert "wk-" not in secrets.hide(text)


# ---- keys.json --------------------------------------------------------------------


async def test_kept_key_is_private_and_replaced_whole(tmp_path: Path) -> None:
    keys = make_keys(tmp_path)
    assert await keys.keep("work", "wk-first-value\n")
    assert not await keys.keep("work", "wk-first-value")
    assert await keys.keep("openai", "sk-second-value\r\n")
    assert json.loads(keys.path.read_text()) == {
        "work": "wk-first-value", "openai": "sk-second-value",
    }  # fmt: skip
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.path.parent.stat().st_mode) == 0o700
    assert await keys.drop("work")
    assert not await keys.drop("work")
    assert json.loads(keys.path.read_text()) == {"openai": "sk-second-value"}


@pytest.mark.parametrize(
    "key", ["", "\n", " ", "two words", "wk-\x00", "wk-é", "two\nlines", "wk\n\n", "x" * 20_000]
)
async def test_what_is_no_key_is_not_kept(tmp_path: Path, key: str) -> None:
    keys = make_keys(tmp_path)
    with pytest.raises(RequestError):
        await keys.keep("work", key)
    assert not keys.path.exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=80))
def test_any_key_comes_back_as_it_was(tmp_path: Path, key: str) -> None:
    keys = make_keys(tmp_path)
    trio.run(keys.keep, "work", key)
    found = make_keys(tmp_path).find(make_config(), {})
    assert found is not None
    assert found.value == key


async def test_file_of_kept_keys_that_is_broken_is_left_alone(tmp_path: Path) -> None:
    keys = make_keys(tmp_path)
    write_private(keys.path, "{ not json")
    with pytest.raises(NotConfigured, match="does not hold a JSON object"):
        await keys.keep("work", "wk-value-here")
    assert keys.path.read_text() == "{ not json"
    write_private(keys.path, {"work": "wk-value-here"}, 0o644)
    with pytest.raises(NotConfigured, match=f"chmod 600 {keys.path}"):
        await keys.keep("work", "wk-other-value")
    with pytest.raises(NotConfigured, match=f"chmod 600 {keys.path}"):
        await keys.drop("work")
    with pytest.raises(NotConfigured, match="chmod 600"):
        keys.find(make_config(), {})


async def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    keys = make_keys(write_private(tmp_path / "file", ""))
    with pytest.raises(NotConfigured, match="cannot be"):
        await keys.keep("work", "wk-value-here")


async def test_kept_at_once_all_are_there(tmp_path: Path) -> None:
    keys = make_keys(tmp_path)
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(keys.keep, f"p{number}", f"wk-{number}")
    assert len(json.loads(keys.path.read_text())) == 10


# ---- files and commands -----------------------------------------------------------


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_private(tmp_path / "key", "wk-of-the-file", mode)
    with pytest.raises(NotConfigured, match=f"chmod 600 {path}") as caught:
        make_keys(tmp_path).find(make_config(api_key_file=str(path)), {})
    assert caught.value.message.startswith("work: ")
    assert "wk-of" not in caught.value.message


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="/nowhere/key cannot be read: No such file"):
        make_keys(tmp_path).find(make_config(api_key_file="/nowhere/key"), {})


def test_home_that_nobody_has(tmp_path: Path) -> None:
    config = make_config(api_key_file="~no-such-user/key")
    with pytest.raises(NotConfigured, match="work: ~no-such-user/key cannot be read: nobody has"):
        make_keys(tmp_path).find(config, {})


async def test_command_is_run_once_until_its_key_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ("sh", "-c", f"echo x >> {trace}; echo ' wk-of-a-command '; echo noise >&2")
    keys = make_keys(tmp_path)
    config = make_config(api_key_cmd=command)
    assert keys.find(config, {}) is None  # nothing is run to look
    assert not trace.exists()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(keys.fetch, config, {})
    assert trace.read_text() == "x\n"
    assert keys.forget("work") == "wk-of-a-command"
    assert keys.forget("work") is None
    await keys.fetch(config, {})
    assert trace.read_text() == "x\nx\n"


async def test_key_of_another_command_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    # The settings change while a command runs: its key is for the address of then.
    go = tmp_path / "go"
    old = make_config(
        api_key_cmd=("sh", "-c", f"until [ -e {go} ]; do sleep 0.01; done; echo old-key")
    )
    new = make_config(api_key_cmd=("echo", "new-key"))
    keys = make_keys(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keys.fetch, old, {})
        await trio.testing.wait_all_tasks_blocked()
        keys.forget("work")
        go.touch()
    key = await keys.fetch(new, {})
    assert key is not None
    assert key.value == "new-key"


async def test_command_that_hangs_is_ended(tmp_path: Path, autojump_clock: MockClock) -> None:
    autojump_clock.autojump_threshold = 0.5  # real processes need real moments
    with pytest.raises(NotConfigured, match="gave no key within 30 seconds"):
        await make_keys(tmp_path).fetch(make_config(api_key_cmd=("sleep", "600")), {})


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("no-such-program",), "No such file"),
        (("sh", "-c", "echo wk-secret; exit 3"), "ended with status 3"),
        (("true",), "the key is empty"),
        (("printf", "two\\nlines"), "characters that no key has"),
        (("printf", "\\303\\251"), "characters that no key has"),
        (("cat", "/dev/zero"), "gave no key within 30 seconds and 16384 bytes"),
    ],
)
async def test_command_that_gives_no_key(
    tmp_path: Path, command: tuple[str, ...], words: str
) -> None:
    with pytest.raises(NotConfigured, match=words) as caught:
        await make_keys(tmp_path).fetch(make_config(api_key_cmd=command), {})
    assert "wk-secret" not in caught.value.message
    assert caught.value.message.startswith("work")


async def test_key_in_the_environment_spares_the_command(tmp_path: Path) -> None:
    config = make_config(api_key_env="WORK_KEY", api_key_cmd=("false",))
    key = await make_keys(tmp_path, {"WORK_KEY": "wk-of-the-daemon"}).fetch(config, {})
    assert key is not None
    assert key.value == "wk-of-the-daemon"


@given(st.text(max_size=30))
def test_checked_key_fits_a_header_or_is_refused_without_being_shown(key: str) -> None:
    bare = key.strip()
    if bare and bare.isascii() and bare.isprintable():
        assert check_key("work", key) == bare
    else:
        with pytest.raises(NotConfigured, match=r"^work: the key (is empty|holds characters)") as e:
            check_key("work", key)
        assert len(e.value.message) < 60
