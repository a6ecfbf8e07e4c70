"""Peers are looked for, asked and timed, and what does not say the answer is no time."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.bench import one_shots, peers
from tests.bench.measure import Command, pair, run_once
from tests.bench.peers import KINDS, Peer, find_peers, make_ready, missing_row
from tests.bench.provider import ANSWER_TEXT, TOKENS
from tests.bench.provider_process import run_provider

ENV = {"PATH": os.environ["PATH"], "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with run_provider() as url:
        yield url


def install(directory: Path, name: str, *, says: str) -> None:
    """A program of this name that has a version, and says the same to everything else."""
    write_program(directory, name, f'[ "$1" = --version ] && echo "{name} 1.2.3" || echo "{says}"')


def write_program(directory: Path, name: str, script: str) -> None:
    """A program of this name that does this in a shell."""
    program = directory / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_peers_are_found_with_their_versions(tmp_path: Path) -> None:
    for kind in KINDS:
        install(tmp_path, kind.name, says="x")
    found = find_peers(tmp_path)
    assert list(found) == [kind.name for kind in KINDS]
    assert {peer.version for peer in found.values()} == {"1.2.3"}
    assert all(peer.program.startswith(str(tmp_path)) for peer in found.values())


def test_every_peer_is_sent_to_the_provider_in_a_home_of_its_own(tmp_path: Path) -> None:
    for kind in KINDS:
        install(tmp_path, kind.name, says="x")
    home = tmp_path / "home"
    home.mkdir()
    for name, peer in find_peers(tmp_path).items():
        command = peer.prepare(home, ENV)
        assert command.env["HOME"] == str(home / name)
        files = [each.read_text() for each in (home / name).iterdir() if each.is_file()]
        told = " ".join([*files, *command.env.values()])
        assert "http://127.0.0.1:9" in told.replace(peers.DEAD_PROXY, "", 1)
        assert command.argv[-1] == "hi"


def test_every_peer_works_where_nothing_is_to_be_read(tmp_path: Path) -> None:
    for kind in KINDS:
        write_program(tmp_path, kind.name, f'[ -z "$(ls)" ] && echo "{ANSWER_TEXT}"; ls >&2')
    home = tmp_path / "home"
    home.mkdir()
    for peer in find_peers(tmp_path).values():
        command = peer.prepare(home, ENV)
        assert command.directory is not None
        assert run_once(command).wall_s > 0
        (command.directory / "AGENTS.md").touch()
        with pytest.raises(RuntimeError, match="said"):
            run_once(command)


def test_a_version_is_read_in_a_home_that_is_thrown_away(tmp_path: Path) -> None:
    write_program(tmp_path, "llm", 'touch "$HOME/seen"; echo "llm, version 0.36 of $HOME"')
    write_program(tmp_path, "sgpt", 'cat; [ -n "$OPENAI_API_KEY" ] && echo "ShellGPT 1.5.1"')
    found = find_peers(tmp_path)
    assert found["llm"].version == "0.36"
    assert found["sgpt"].version == "1.5.1"
    assert not (Path.home() / "seen").exists()


def test_a_peer_that_is_broken_keeps_no_other_from_being_found(tmp_path: Path) -> None:
    install(tmp_path, "codex", says="x")
    write_program(tmp_path, "sgpt", "echo no module >&2; exit 1")
    (tmp_path / "bin" / "llm").write_text("#!/nowhere/python\n")
    (tmp_path / "bin" / "llm").chmod(0o755)
    versions = {name: peer.version for name, peer in find_peers(tmp_path).items()}
    assert versions | {"codex": "1.2.3", "sgpt": "unknown", "llm": "unknown"} == versions


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo one; echo other; echo 'no | module' >&2; exit 3", "ends with 3, says 'other'"),
        (f"echo {ANSWER_TEXT}; exit 1", "ends with 1"),
        ("true", "ends with 0, says '', complains ''"),
        ("echo no module >&2", "complains 'no module'"),
    ],
)
def test_a_peer_without_the_answer_is_not_measured_and_says_why(
    tmp_path: Path, script: str, reason: str
) -> None:
    write_program(tmp_path, "codex", script)
    peer = find_peers(tmp_path)["codex"]
    told = make_ready(peer, tmp_path, ENV)
    assert isinstance(told, str)
    assert reason in told
    row = missing_row("n", "codex", "≥ 8×", told)
    assert row.holds is None
    assert row.figure.startswith(f"not measured: codex {peer.version} ends")
    assert "|" not in row.figure


def test_a_peer_that_cannot_start_or_end_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "TRIAL_LIMIT_S", 0.2)
    write_program(tmp_path, "codex", "exec sleep 5")
    peer = Peer(KINDS[0], str(tmp_path / "bin" / "codex"), "1")
    assert make_ready(peer, tmp_path, ENV) == "1 does not end within 0 s"
    absent = Peer(KINDS[0], str(tmp_path / "bin" / "none"), "1")
    assert make_ready(absent, tmp_path, ENV) == "1 does not start: No such file or directory"


def test_a_peer_with_the_answer_is_ready(tmp_path: Path) -> None:
    install(tmp_path, "codex", says=ANSWER_TEXT)
    command = make_ready(find_peers(tmp_path)["codex"], tmp_path, ENV, ["-n"])
    assert isinstance(command, Command)
    assert command.argv[1:3] == ["-n", "exec"]


def test_an_answer_may_stand_among_other_words_but_only_once(tmp_path: Path) -> None:
    install(tmp_path, "llm", says=f"model: {ANSWER_TEXT}")
    home = tmp_path / "home"
    home.mkdir()
    command = find_peers(tmp_path)["llm"].prepare(home, ENV)
    assert pair(command, command, rounds=1).a
    assert not command.is_said(f"{ANSWER_TEXT} {ANSWER_TEXT}".encode())


def test_a_run_that_says_something_else_is_void(tmp_path: Path) -> None:
    install(tmp_path, "llm", says="tok0 tok1")
    home = tmp_path / "home"
    home.mkdir()
    command = find_peers(tmp_path)["llm"].prepare(home, ENV)
    with pytest.raises(RuntimeError, match="said"):
        run_once(command)
    with pytest.raises(RuntimeError, match="said"):
        one_shots.run_herd(command)


def test_a_herd_waits_for_all_and_counts_their_work() -> None:
    herd = one_shots.run_herd(Command(["sh", "-c", "sleep 0.2; echo done"], ENV, expected="done"))
    assert herd.wall_s >= 0.2
    assert herd.cpu_s > 0


def test_what_is_not_there_is_named_as_not_measured() -> None:
    row = missing_row("n", "codex", "≥ 8×")
    assert row.holds is None
    assert row.figure == "not measured: codex is not there"


def test_the_provider_answers_responses(base_url: str) -> None:
    with httpx.stream("POST", f"{base_url}/responses", json={"stream": True}) as response:
        lines = [line for line in response.iter_lines() if line.startswith("data: {")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    deltas = [each["delta"] for each in events if each["type"] == "response.output_text.delta"]
    assert deltas == TOKENS
    assert events[-1]["type"] == "response.completed"


def test_the_provider_answers_messages(base_url: str) -> None:
    address = f"{base_url}/messages?beta=true"
    with httpx.stream("POST", address, json={"stream": True}) as response:
        lines = [line for line in response.iter_lines() if line.startswith("data: {")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    deltas = [each["delta"] for each in events if each["type"] == "content_block_delta"]
    assert [delta["text"] for delta in deltas] == TOKENS
    assert events[-1]["type"] == "message_stop"
