"""The caller as the short way sees it, and that the long way sends the same bytes."""

import os
import socket
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ask import paths, protocol
from ask.commands.root import main
from ask.fast import caller
from ask.fast.argv import read_prompt
from ask.protocol import names
from tests.fakes.daemon import FakeDaemon, Refusal

KEY = "0f0e0d0c-0b0a-4908-8706-050403020100"


def test_the_tables_are_those_of_the_protocol() -> None:
    assert caller.CALLER_ENVIRONMENT == names.CALLER_ENVIRONMENT
    assert caller.SECRET_NAMES == names.SECRET_NAMES
    assert caller.PROTOCOL == protocol.PROTOCOL
    assert caller.SOCKET_PATH_LIMIT_BYTES == paths.SOCKET_PATH_LIMIT_BYTES


# ---- where the daemon listens ------------------------------------------------------

directories = st.sampled_from(["", "/run/user/0", "/nowhere", "relative", "/tmp"])
places = st.sampled_from(["", "/tmp/x.sock", "x.sock", "/tmp/home", "home", "/tmp/" + "long/" * 30])


@given(socket_path=places, home=places, runtime=directories)
def test_it_looks_where_the_paths_say(socket_path: str, home: str, runtime: str) -> None:
    said = {"ASK_SOCKET": socket_path, "ASK_HOME": home, "XDG_RUNTIME_DIR": runtime}
    environ = {name: value for name, value in said.items() if value}
    first = caller.first_socket(environ)
    best = paths.socket_candidates(environ)[0]
    if first is None:  # the long way makes a shorter one, or says that it is too long
        assert "/long/" in f"{socket_path}{home}"
    else:
        assert Path(first) == best


def test_a_runtime_directory_of_ones_own_is_used(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert caller.first_socket(environ) == str(tmp_path / "ask" / "askd.sock")


bases = st.sampled_from(["", "/a", "/a//b/", "/a/../b", "rel", "./r", " ", "/é", "~/x", "/a\udcff"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(socket_path=places, home=bases, shared=bases, user=bases)
def test_the_data_directory_is_the_one_of_the_paths(
    monkeypatch: pytest.MonkeyPatch, socket_path: str, home: str, shared: str, user: str
) -> None:
    said = {"ASK_SOCKET": socket_path, "ASK_HOME": home, "XDG_DATA_HOME": shared, "HOME": user}
    with monkeypatch.context() as patch:
        for name, value in said.items():
            patch.setenv(name, value) if value else patch.delenv(name, raising=False)
        found = caller.find_data(os.environ)
        if found is not None:
            assert Path(found) == paths.Paths.of(os.environ).data
    if socket_path:
        assert found is None
    elif home in ("/a", "rel") or (not home and (shared == "/a" or (not shared and user == "/a"))):
        assert found is not None


def test_nobody_listens(lone_home: Path) -> None:
    assert caller.open_socket(os.environ) is None


def test_a_path_that_is_too_long_for_a_socket() -> None:
    assert caller.open_socket({"ASK_SOCKET": "/tmp/" + "x" * 200}) is None


def test_another_users_daemon_is_not_talked_to(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeDaemon(lone_home) as daemon:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getuid", lambda: os.geteuid() + 1)
            assert caller.open_socket(os.environ) is None
        stream = caller.open_socket(os.environ)
        assert stream is not None
        stream.close()
    assert daemon.requests == []


def test_a_silent_daemon_is_not_waited_for_forever(lone_home: Path) -> None:
    lone_home.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(lone_home))
        listener.listen()
        stream = caller.open_socket(os.environ, quiet_s=0.05)
        assert stream is not None
        with pytest.raises(OSError, match="unavailable"):
            stream.recv(1)
        stream.close()


# ---- who is calling ----------------------------------------------------------------


def test_a_key_is_a_random_uuid() -> None:
    first, second = caller.make_key(), caller.make_key()
    assert uuid.UUID(first).version == 4
    assert str(uuid.UUID(first)) == first
    assert first != second


def test_a_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert caller.find_directory() is None
    assert "cwd" not in caller.describe({})
    assert caller.first_socket({"ASK_SOCKET": "x.sock"}) is not None


def test_a_directory_that_must_not_be_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65_534)
        assert "cwd" not in caller.describe({})
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)


def test_nothing_but_the_named_variables_leaves() -> None:
    environ = {"PATH": "/bin", "TERM": "", "AWS_SECRET": "no", "OPENAI_API_KEY": "sk"}
    described = caller.describe(environ)
    assert described["env"] == {"PATH": "/bin"}
    assert described["secrets"] == {"OPENAI_API_KEY": "sk"}


# ---- standard input ----------------------------------------------------------------


def test_a_pipe_is_input_and_a_device_is_not(stdin: int) -> None:
    assert caller.has_input()
    os.close(stdin)
    device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(device, 0)
    os.close(device)
    assert not caller.has_input()


def test_a_closed_input_is_none(stdin: int) -> None:
    os.close(stdin)
    os.close(0)
    assert not caller.has_input()


# ---- the outputs -------------------------------------------------------------------


def test_all_of_it_is_written_to_a_slow_pipe() -> None:
    reader, writer = os.pipe2(os.O_NONBLOCK)
    os.set_blocking(reader, True)
    data, found = os.urandom(300_000), bytearray()

    def read() -> None:
        while len(found) < len(data):
            found.extend(os.read(reader, 10_000))

    thread = threading.Thread(target=read)
    thread.start()
    caller.write_all(writer, data)
    thread.join()
    assert bytes(found) == data
    os.close(reader)
    with pytest.raises(caller.StdoutClosed):
        caller.write_all(writer, b"x")
    os.close(writer)


def test_a_full_disk_is_another_matter() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(caller.StdoutFailed, match="No space left"):
        caller.write_all(full, b"x")
    os.close(full)


def test_nobody_needs_to_read_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, data: bytes) -> int:
        raise BrokenPipeError(32, "closed")

    monkeypatch.setattr(os, "write", refuse)
    caller.say("unheard")


# ---- the request -------------------------------------------------------------------


def build(line: list[str], environ: Mapping[str, str], stdin: bytes | None = None) -> bytes | None:
    words = read_prompt(line)
    assert words is not None
    return caller.build_request(words, KEY, stdin, environ)


@pytest.mark.parametrize(
    ("line", "stdin"),
    [
        ([], None),
        (["  "], None),
        ([], b" \n"),
        (["-c", "hi"], None),
        (["hi"], b"\xff"),
        (["\udcff"], None),
        (["x" * 300_000], None),
        (["x", "-S", "y" * 1_100_000], None),
    ],
)
def test_what_is_left_to_the_long_way(line: list[str], stdin: bytes | None) -> None:
    assert build(line, {}, stdin) is None


def test_what_came_on_stdin_is_named_unless_it_is_the_prompt() -> None:
    words = {"type": "text", "text": "why?"}
    assert caller.list_parts("why?", "log") == [
        words,
        {"type": "text", "text": "log", "name": "stdin"},
    ]
    assert caller.list_parts("", "why?") == [words]


tokens = st.one_of(
    st.sampled_from(
        [
            *("-c", "--continue", "-s", "--session", "-m", "--model", "-S", "--system", "-q"),
            *("--quiet", "--raw", "--no-stdin", "--queue", "--fail-busy", "--ephemeral", "--"),
            *(
                "--timeout",
                "1.5",
                "30",
                "work",
                "--no-mentions",
                "a@b.c",
                "@user",
                "list",
                "daemon",
                "status",
                "é ü",
                "a/b",
                "hi",
            ),
        ]
    ),
    st.sampled_from(
        [
            "--json",
            "-x",
            "-sq",
            "--session=x",
            "-",
            "--help",
            "-t",
            "--detach",
            "@x",
            "",
            "-q",
            "hi",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
environments = st.fixed_dictionaries(
    {},
    optional={
        "ASK_MODEL": st.just("work/m"),
        "ASK_SYSTEM": st.just("be brief"),
        "ASK_TERMINAL": st.just("left"),
        "OPENAI_API_KEY": st.just("sk-1"),
        "TERM": st.sampled_from(["", "xterm"]),
        "OTHER": st.just("private"),
    },
)


options = st.one_of(
    st.sampled_from(
        [["-c"], ["-q"], ["--raw"], ["--queue"], ["--fail-busy"], ["--steer"], ["--ephemeral"]]
    ),
    st.tuples(st.sampled_from(["-s", "--session", "-m", "-S", "--system"]), tokens).map(list),
    st.sampled_from(["1.5", "30", "0", "x", "1e3"]).map(lambda text: ["--timeout", text]),
    tokens.map(lambda word: [word]),
)
lines = st.lists(options, max_size=5).map(
    lambda groups: [token for each in groups for token in each]
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
    deadline=None,
)
@given(line=lines, environ=environments)
def test_the_long_way_sends_the_same_bytes(
    lone_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: list[str],
    environ: dict[str, str],
) -> None:
    words = read_prompt(line)
    assume(words is not None)
    assert words is not None
    with monkeypatch.context() as patch:
        for name in ("ASK_MODEL", "ASK_SYSTEM", "ASK_TERMINAL", "OPENAI_API_KEY", "TERM"):
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        patch.setattr(caller, "make_key", lambda: KEY)
        expected = caller.build_request(words, KEY, None, os.environ)
        refusal = Refusal(1, "internal", "That was all.")
        with FakeDaemon(lone_home, refuse={"turn/start": [refusal]}) as daemon:
            code = main(line)
    if expected is None:
        assert daemon.asked("turn/start") == []
        assert code in (2, 3)
    else:
        assert code == 1
        assert daemon.raw == [expected]
