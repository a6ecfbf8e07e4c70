"""Bad input: one sentence, the right exit code, nothing lost, the daemon alive."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.system.world import Result, World, open_world

LARGEST_STDIN_BYTES = 32 * 1024 * 1024


def assert_sentence(result: Result, code: int, *words: str) -> None:
    """One sentence on standard error (and perhaps a hint), no traceback, this code."""
    assert result.code == code, result
    assert "Traceback" not in result.err
    assert 1 <= len(result.err.strip().splitlines()) <= 4, result.err
    for word in words:
        assert word in result.err, result.err


def test_unknown_and_ambiguous_conversations(world: World) -> None:
    assert_sentence(world.ask("history", "show", "nope"), 3, "Conversation not found: id=nope")
    assert_sentence(world.ask("resume", "abcd"), 3, "ask list")
    assert_sentence(world.ask("-s", "bad/name", "x"), 2, "/")
    assert_sentence(world.ask("-s", "-x", "y"), 2)


def test_unknown_model(world: World) -> None:
    assert_sentence(world.ask("-m", "nowhere/model", "x"), 2, "nowhere")


def test_files_that_cannot_be_sent(world: World) -> None:
    (world.home / "binary").write_bytes(b"\x7fELF\x00\x01\x02")
    (world.home / "latin").write_bytes("caf\xe9 au lait".encode("latin-1"))
    assert_sentence(world.ask("-f", "binary", "x"), 2, "binary")
    assert_sentence(world.ask("-f", "latin", "x"), 2, "latin")
    assert_sentence(world.ask("-f", "missing", "x"), 2, "missing")
    assert_sentence(world.ask("-f", ".", "x"), 2)


def test_standard_input_that_is_no_text(world: World) -> None:
    assert_sentence(world.ask("x", stdin=b"\xff\xfe\x00"), 2)


def test_empty_prompts(world: World) -> None:
    assert_sentence(world.ask(""), 2)
    assert_sentence(world.ask("   "), 2)
    assert_sentence(world.ask(stdin=b""), 2)


def test_a_command_with_words_it_does_not_take(world: World) -> None:
    assert_sentence(world.ask("list", "all", "primes"), 2, "As a prompt: ask -- list all primes")
    result = world.ask("--", "ECHO:list all")
    assert result.code == 0


def test_the_largest_standard_input_and_one_byte_more(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        assert world.model is not None
        config = world.ask_home / "config" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f'[providers.wide]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
            '[models."wide/fake"]\ncontext_window = 100000000\n'
            '[models."wide/small"]\ncontext_window = 8192\n'
        )
        text = (b"0123456789abcde\n" * (LARGEST_STDIN_BYTES // 16))[:LARGEST_STDIN_BYTES]
        assert len(text) == LARGEST_STDIN_BYTES
        assert_sentence(world.ask("-m", "wide/fake", "SUM", stdin=text + b"x"), 2, "32 MiB")
        assert_sentence(world.ask("-m", "wide/small", "SUM", stdin=text), 7, "8192")
        assert world.model.requests() == []
        result = world.ask("-s", "big", "-m", "wide/fake", "SUM", stdin=text)
        assert result.code == 0, result
        sent = world.model.requests()[-1]["messages"][-1]["content"]
        assert text.decode() in sent
        blob = next(
            part
            for event in world.events("big")
            if event["type"] == "prompt_accepted"
            for part in event["items"][0]["parts"]
            if part["type"] == "blob"
        )
        assert blob["sha256"] == hashlib.sha256(text).hexdigest()
        world.ok("-q", "ECHO:alive")


def test_a_conversation_that_outgrows_its_window(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        assert world.model is not None
        config = world.ask_home / "config" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            'default_model = "s/fake"\n[providers.s]\ndialect = "openai-chat"\n'
            f'base_url = "{world.model.base_url}"\n'
            '[models."s/fake"]\ncontext_window = 2000\nmax_output_tokens = 200\n'
            "[context]\ncompaction = false\n"
        )
        filler = "ECHO:" + "word " * 800
        strict = ("--overflow", "ask", "-s", "long", filler)
        codes = [world.ask(*strict).code for _ in range(3)]
        assert codes[0] == 0
        assert codes[-1] == 7, "the last turns never leave by themselves, and nobody can be asked"
        full = world.ask(*strict)
        assert_sentence(full, 7, "ask clear", "ask new")
        world.ok("clear", "long")
        world.ok("-s", "long", "ECHO:room again")


def test_a_config_file_with_an_unknown_key(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("title = 'off'\ncolour = 'red'\n")
    assert_sentence(world.ask("config", "check"), 2, "colour", "line 2")
    assert_sentence(world.ask("x"), 2, "colour", "line 2")
    config.write_text("title = 'off'\n")
    world.ok("ECHO:better")
    config.write_text("title = 'off'\ncolour = 'red'\n")
    world.ok("ECHO:the last good settings stay")


def test_a_data_directory_that_cannot_be_written(world: World) -> None:
    world.ask_home.mkdir()
    (world.ask_home / "data").write_text("a file is in the way")
    assert_sentence(world.ask("x"), 74, "data")


def test_no_key_and_no_embedded_model(tmp_path: Path) -> None:
    """A daemon in whose Python the engine is not installed."""
    program = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from askd.__main__ import main; sys.exit(main(['run']))"
    )
    with open_world(tmp_path, model=False) as world:
        daemon = world.start(command=(sys.executable, "-c", program))
        daemon.wait_for("Ready", where="err")
        result = world.ask("hello")
        assert_sentence(result, 4, "OPENAI_API_KEY", "askd[local]", "[providers.NAME]")
        assert json.loads(world.ok("history", "list", "--json").out) == []


def test_a_model_file_that_is_not_there(tmp_path: Path) -> None:
    with open_world(tmp_path, model=False) as world:
        config = world.ask_home / "config" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("[local]\nmodel_path = '/nonexistent/model.gguf'\n")
        assert_sentence(world.ask("-m", "local/model", "x"), 4, "/nonexistent/model.gguf")


def test_garbage_on_the_socket_harms_nobody(world: World) -> None:
    world.ok("ECHO:x")
    note = world.owner()
    assert note is not None
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\xdd\xff\xff\xff\xff", b"\xc1"):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(30)
            peer.connect(note["socket"])
            peer.sendall(garbage)
            while peer.recv(65536):
                pass
    world.ok("-c", "ECHO:still here")
    assert world.daemon_pid() == note["pid"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk(tmp_path: Path) -> None:
    """A small file system, filled up: prompts are refused in words, and work again after."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no mount here: {mounted.stderr.strip()}")
    try:
        with open_world(disk) as world:
            world.ok("-s", "work", "ECHO:room")
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as stream, suppress(OSError):
                while True:
                    stream.write(b"\0" * 65536)
            full = world.ask("-s", "work", "ECHO:no room", stdin=b"no room " * 10000)
            assert_sentence(full, 74)
            assert "room" in world.ok("history", "show", "work").out
            filler.unlink()
            world.ok("-s", "work", "ECHO:room again")
            accepted = [e for e in world.events("work") if e["type"] == "prompt_accepted"]
            finished = [e for e in world.events("work") if e["type"] == "turn_finished"]
            assert len(accepted) == len(finished) >= 2
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_errors_as_json_are_on_standard_output(world: World) -> None:
    result = world.ask("--json", "-m", "nowhere/model", "x")
    assert result.code == 2
    error = json.loads(result.out.splitlines()[-1])
    assert error["type"] == "error"
    assert error["code"] == 2
    assert error["message"]


def test_an_unknown_model_is_refused_where_it_is_named(world: World) -> None:
    assert_sentence(world.ask("models", "default", "nowhere/model"), 2, "nowhere")
    assert_sentence(world.ask("new", "-m", "nowhere/model", "x"), 2, "nowhere")
    assert json.loads(world.ok("history", "list", "--json").out) == []
    world.ok("models", "default", "openai/fake")
    world.ok("new", "-m", "openai/fake", "x")
    assert_sentence(world.ask("models", "default", ""), 2)
