"""Keys and addresses: whose key goes where, and what is never sent."""

from pathlib import Path

import pytest
from trio.testing import MockClock

from askd.errors import NotConfigured, SecretsNeeded
from askd.providers.addresses import OPENAI_URL
from askd.providers.credentials import (
    LOCAL_ONLY,
    Caller,
    Credentials,
    hide_key,
)
from askd.providers.known import ProviderConfig

NOBODY = Caller()
OURS = {"OPENAI_API_KEY": "sk-ours", "WORK_KEY": "wk-ours"}
THEIRS = Caller(secrets={"OPENAI_API_KEY": "sk-theirs", "WORK_KEY": "wk-theirs"})


def work(base_url: str = "http://127.0.0.1:1/v1", **key: object) -> ProviderConfig:
    """A configured provider."""
    return ProviderConfig(name="work", dialect="openai-chat", base_url=base_url, **key)  # type: ignore[arg-type]


def credentials(
    *providers: ProviderConfig, keys: dict[str, str] | None = None, local_only: bool = False
) -> Credentials:
    """Credentials of a daemon with these keys."""
    return Credentials(
        providers,
        environ_keys=keys or {},
        child_env={"PATH": "/usr/bin:/bin"},
        local_only=local_only,
    )


# ---- openai: a key and its address belong together --------------------------------


@pytest.mark.parametrize(
    ("caller", "own", "expected"),
    [
        (NOBODY, {}, None),
        (NOBODY, OURS, (OPENAI_URL, "sk-ours")),
        (THEIRS, {}, (OPENAI_URL, "sk-theirs")),
        (THEIRS, OURS, (OPENAI_URL, "sk-theirs")),
        (NOBODY, {**OURS, "OPENAI_BASE_URL": "http://ours/v1"}, ("http://ours/v1", "sk-ours")),
        (THEIRS, {**OURS, "OPENAI_BASE_URL": "http://ours/v1"}, (OPENAI_URL, "sk-theirs")),
        (
            Caller({"OPENAI_BASE_URL": "http://theirs/v1"}, THEIRS.secrets),
            {**OURS, "OPENAI_BASE_URL": "http://ours/v1"},
            ("http://theirs/v1", "sk-theirs"),
        ),
    ],
)
def test_openai(caller: Caller, own: dict[str, str], expected: tuple[str, str] | None) -> None:
    found = credentials(keys=own)
    if expected is None:
        with pytest.raises(SecretsNeeded, match="set OPENAI_API_KEY") as caught:
            found.find("openai", caller)
        assert caught.value.data == {"names": ["OPENAI_API_KEY"]}
        assert not found.has_openai_key(caller)
    else:
        endpoint = found.find("openai", caller)
        assert (endpoint.base_url, endpoint.api_key) == expected
        assert found.has_openai_key(caller)


def test_our_key_never_goes_to_an_address_of_theirs() -> None:
    caller = Caller({"OPENAI_BASE_URL": "http://theirs/v1"})
    with pytest.raises(NotConfigured, match="another key is never sent there"):
        credentials(keys=OURS).find("openai", caller)


def test_configured_openai_is_the_configured_one() -> None:
    config = ProviderConfig(name="openai", dialect="openai-chat", base_url="http://proxy/v1")
    assert credentials(config, keys=OURS).find("openai", THEIRS).base_url == "http://proxy/v1"


# ---- configured providers ---------------------------------------------------------


def test_callers_key_wins_over_ours() -> None:
    found = credentials(work(api_key_env="WORK_KEY"), keys=OURS)
    assert found.find("work", THEIRS).api_key == "wk-theirs"
    assert found.find("work", NOBODY).api_key == "wk-ours"


def test_key_that_nobody_has_is_asked_for() -> None:
    with pytest.raises(SecretsNeeded) as caught:
        credentials(work(api_key_env="OTHER_KEY")).find("work", THEIRS)
    assert caught.value.data == {"names": ["OTHER_KEY"]}
    assert "OTHER_KEY" in caught.value.message


def test_no_key_wanted_none_sent() -> None:
    assert credentials(work(), keys=OURS).find("work", THEIRS).api_key is None


async def test_key_from_a_command_is_asked_for_once(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ("sh", "-c", f"echo x >> {trace}; echo ' wk-command '; echo noise >&2")
    found = credentials(work(api_key_env="NOT_SET", api_key_cmd=command))
    assert found.find("work", NOBODY).api_key is None  # nothing is run to look
    assert not trace.exists()
    for _ in range(2):
        assert (await found.fetch("work", NOBODY)).api_key == "wk-command"
    assert trace.read_text() == "x\n"
    found.forget("work")
    await found.fetch("work", NOBODY)
    assert trace.read_text() == "x\nx\n"


async def test_command_that_hangs_is_ended(autojump_clock: MockClock) -> None:
    autojump_clock.autojump_threshold = 0.5  # real processes need real moments
    with pytest.raises(NotConfigured, match="gave no key within 30 seconds"):
        await credentials(work(api_key_cmd=("sleep", "600"))).fetch("work", NOBODY)


async def test_key_in_the_environment_spares_the_command() -> None:
    found = credentials(work(api_key_env="WORK_KEY", api_key_cmd=("false",)), keys=OURS)
    assert (await found.fetch("work", NOBODY)).api_key == "wk-ours"


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
async def test_command_that_gives_no_key(command: tuple[str, ...], words: str) -> None:
    with pytest.raises(NotConfigured, match=words) as caught:
        await credentials(work(api_key_cmd=command)).fetch("work", NOBODY)
    assert "wk-secret" not in caught.value.message
    assert caught.value.message.startswith("work")


async def test_key_from_a_file_that_is_mine_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("wk-file\n")
    path.chmod(0o600)
    endpoint = await credentials(work(api_key_file=str(path))).fetch("work", NOBODY)
    assert endpoint.api_key == "wk-file"


@pytest.mark.parametrize("mode", [0o644, 0o660])
async def test_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_text("wk-file\n")
    path.chmod(mode)
    with pytest.raises(NotConfigured, match="chmod 600") as caught:
        await credentials(work(api_key_file=str(path))).fetch("work", NOBODY)
    assert "wk-file" not in caught.value.message


async def test_file_that_is_not_there() -> None:
    with pytest.raises(NotConfigured, match="/nowhere/key cannot be read: No such file"):
        await credentials(work(api_key_file="/nowhere/key")).fetch("work", NOBODY)


async def test_fetch_without_anything_to_fetch() -> None:
    assert (await credentials(work()).fetch("work", NOBODY)).api_key is None
    assert (await credentials(keys=OURS).fetch("openai", NOBODY)).api_key == "sk-ours"


# ---- addresses --------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["", "host:80/v1", "ftp://host/v1", "http://", "http://[::1", "http://h:port/v1"]
)
def test_address_that_is_none(address: str) -> None:
    with pytest.raises(NotConfigured, match="is not an address"):
        credentials(work(address)).find("work", NOBODY)


def test_unix_socket() -> None:
    endpoint = credentials(work("unix:/run/x.sock"), local_only=True).find("work", NOBODY)
    assert (endpoint.unix_socket, endpoint.base_url) == ("/run/x.sock", "http://localhost/v1")


def test_local_only_refuses_every_other_machine() -> None:
    found = credentials(work("http://10.0.0.1/v1"), keys=OURS, local_only=True)
    for provider in ("work", "openai"):
        with pytest.raises(NotConfigured, match="`local_only` is set") as caught:
            found.find(provider, NOBODY)
        assert caught.value.reason == LOCAL_ONLY
        assert not found.is_allowed(provider, NOBODY)
    assert credentials(work(), local_only=True).is_allowed("work", NOBODY)
    assert credentials(work(api_key_env="NOT_SET"), local_only=True).is_allowed("work", NOBODY)


def test_nothing_that_is_printed_shows_a_key() -> None:
    endpoint = credentials(keys=OURS).find("openai", THEIRS)
    assert "sk-" not in repr(endpoint) + repr(THEIRS)


def test_a_key_is_hidden_unless_it_could_be_part_of_any_word() -> None:
    assert hide_key("bad key sk-secret-1!", "sk-secret-1") == "bad key ***!"
    assert hide_key("does not exist", "x") == "does not exist"
    assert hide_key("anything", None) == "anything"
