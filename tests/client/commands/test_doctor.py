"""Every check: what is in order, and what is said about the rest."""

import json
import os
from pathlib import Path

import pytest

from ask.commands import doctor, recovering
from ask.exits import Failed
from ask.paths import Paths
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal


@pytest.fixture
def ready(daemon: FakeDaemon, home: Path) -> FakeDaemon:
    """A daemon whose owner's file names it."""
    (home / "data").mkdir(mode=0o700)
    owner = {"socket": str(daemon.path), "pid": os.getpid(), "boot_id": daemon.boot_id}
    (home / "data" / "owner.json").write_text(json.dumps(owner))
    return daemon


def states(result_out: str) -> dict[str, str]:
    return {line["check"]: line["state"] for line in json.loads(result_out)}


def test_a_healthy_house_is_all_ok(ready: FakeDaemon, ask: Ask) -> None:
    result = ask("doctor", "--json")
    found = states(result.out)
    assert set(found.values()) == {"ok"}
    assert set(found) == {
        "client",
        "config",
        "data",
        "state",
        "daemon",
        "owner",
        "socket",
        "sqlite",
        "model",
        "notify",
        "provider",
        "store",
        "records",
        "rendering",
        "rollouts",
        "backups",
        "confinement",
    }
    assert result.code == 0
    text = ask("doctor").out
    assert "ok    model: Default model: fake/echo because it is the only one" in text
    assert "ok    provider: fake: 1 model\n" in text
    assert text.splitlines()[-1] == (
        "ok    confinement: bubblewrap: commands of tools are confined with it"
    )


def test_what_nothing_confines_is_said_last_and_once(ready: FakeDaemon, ask: Ask) -> None:
    ready.confinement = {"kind": "none", "text": "Not confined."}
    result = ask("doctor")
    lines = [line for line in result.out.splitlines() if "confinement:" in line]
    assert [line[:24] for line in lines] == ["warn  confinement: none:"]
    assert result.code == 0, "a warning is no failure"


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ('[mcpServers.a]\ncommand = "x"\n[mcpServers.a.env]\nKEY = "v"\n', 0o644, "warn"),
        ('[mcpServers.a]\ncommand = "x"\n[mcpServers.a.env]\nKEY = "v"\n', 0o600, "ok"),
        ('[mcpServers.a]\ncommand = "x"\n', 0o644, "ok"),
    ],
)
def test_settings_that_hold_secrets_are_for_nobody_else(
    ready: FakeDaemon, home: Path, ask: Ask, text: str, mode: int, said: str
) -> None:
    path = home / "config" / "config.toml"
    path.parent.mkdir(mode=0o755)
    path.write_text(text)
    path.chmod(mode)
    result = ask("doctor", "--json")
    assert states(result.out)["config"] == said
    assert ("chmod 600" in result.out) is (said == "warn")
    path.parent.chmod(0o700)
    assert states(ask("doctor", "--json").out)["config"] == "ok", "nobody else gets there"


def test_servers_of_tools_have_a_line_each_and_none_is_started(ready: FakeDaemon, ask: Ask) -> None:
    ready.configure("time", command="t")
    ready.configure("web", url="http://h/mcp")
    ready.how["web"] = {"state": "failed", "error": "Nobody is there."}
    result = ask("doctor")
    lines = [line for line in result.out.splitlines() if "mcp" in line]
    assert lines == [
        "ok    mcp: time: not needed yet",
        "warn  mcp: web: Nobody is there.",
        "      Try it: ask mcp test web",
    ]
    assert result.code == 0
    assert ready.called("mcp/test") == []


def test_an_older_daemon_has_no_servers_of_tools(ready: FakeDaemon, ask: Ask) -> None:
    ready.refusals["mcp/list"] = Refusal("unknown_method", "There is no method 'mcp/list'.")
    result = ask("doctor", "--json")
    assert "mcp" not in states(result.out)
    assert result.code == 0


def test_each_provider_says_what_it_has_or_why_not(ready: FakeDaemon, ask: Ask) -> None:
    ready.models.append({"name": "fake/other", "provider": "fake"})
    ready.warnings.append("work cannot be reached")
    result = ask("doctor")
    assert "ok    provider: fake: 2 models" in result.out.splitlines()
    assert "warn  provider: work cannot be reached" in result.out.splitlines()
    assert result.code == 0


def test_where_nothing_is_stored_nothing_is_made(ask: Ask, home: Path) -> None:
    result = ask("doctor")
    assert result.code == 0
    assert "ok    daemon: none is running, and nothing is stored yet" in result.out
    assert not home.exists()


def test_what_cannot_go_together_is_said(ask: Ask, home: Path) -> None:
    for words in (
        ["--from", "x"],
        ["--yes"],
        ["--restore", "a", "--rebuild"],
        ["--restore", "a", "--from", "x"],
        ["--rebuild", "--json"],
    ):
        assert ask("doctor", *words).code == 2, words


def test_repairs_are_handed_on(ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[object, ...]] = []

    def note(what: str | None, *, yes: bool) -> int:
        done.append((what, yes))
        return 8

    monkeypatch.setattr(recovering, "restore", note)
    monkeypatch.setattr(recovering, "rebuild", note)
    assert ask("doctor", "--restore", "b", "--yes").code == 8
    assert ask("doctor", "--rebuild").code == 8
    assert ask("doctor", "--rebuild", "--from", "d", "-y").code == 8
    assert done == [("b", True), (None, False), ("d", True)]


@pytest.mark.parametrize(
    ("version", "told"),
    [("3.40.1", True), ("3.51.2", True), ("3.51.3", False), ("3.52", False), ("odd", True)],
)
def test_the_fault_of_older_sqlites_is_named(version: str, told: bool) -> None:
    assert bool(doctor.explain_sqlite(version)) == told


def test_a_daemon_that_a_damaged_database_stops_names_the_ways_back(
    ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "data").mkdir(parents=True, mode=0o700)
    (home / "data" / "ask.db").write_bytes(b"x")
    (home / "data" / "ask.db.backup-3").write_bytes(b"x")

    def refuse(**_: object) -> None:
        raise Failed(74, "The daemon did not start: no.", hint="Its log: there")

    monkeypatch.setattr(doctor, "open_client", refuse)
    result = ask("doctor")
    assert result.code == 1
    assert "ask doctor --rebuild, or ask doctor --restore BACKUP" in result.out
    assert "ok    backups: ask.db.backup-3 (1 B, now)" in result.out


def test_no_model_and_a_strange_owner_fail_and_say_what_to_do(
    ready: FakeDaemon, ask: Ask, home: Path
) -> None:
    ready.models.clear()
    ready.boot_id = "another"
    result = ask("doctor")
    assert result.code == 1
    lines = result.out.splitlines()
    model = lines.index("fail  model: There is no model to answer.")
    assert lines[model + 1] == "      Looked for a key: set KEY."
    assert any(line.startswith("fail  owner:") for line in lines)
    (home / "data" / "owner.json").unlink()
    assert states(ask("doctor", "--json").out)["owner"] == "fail"


def test_a_set_default_is_shown(ready: FakeDaemon, ask: Ask) -> None:
    ready.settings["default_model"] = "work/x"
    assert "Default model: work/x because" in ask("doctor").out


def test_open_permissions_are_a_warning(ready: FakeDaemon, ask: Ask, home: Path) -> None:
    (home / "data").chmod(0o755)
    ready.path.chmod(0o666)
    result = ask("doctor", "--json")
    found = states(result.out)
    assert (found["data"], found["socket"]) == ("warn", "warn")
    assert result.code == 0


def test_a_daemon_that_cannot_start_is_a_failure_not_a_crash(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise Failed(69, "The daemon did not start: no.", hint="Its log: there")

    monkeypatch.setattr(doctor, "open_client", refuse)
    monkeypatch.setattr(doctor, "is_running", lambda: True)
    result = ask("doctor")
    assert result.code == 1
    assert "fail  daemon: The daemon did not start: no." in result.out


def test_a_wrong_configuration_is_a_failure(ready: FakeDaemon, ask: Ask, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text("titel = 1\n")
    found = [line for line in ask("doctor").out.splitlines() if "config:" in line]
    assert found[0].startswith("fail")
    assert "titel" in found[0]


def test_an_unwritable_directory_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    finding = doctor.check_directory("data", tmp_path / "a" / "b")
    assert finding.state == "fail"
    assert str(tmp_path) in finding.hint


def test_another_version_is_a_warning(home: Path) -> None:
    status = {"version": "9.9.9", "protocol": 1, "pid": 5}
    assert doctor.check_version(status).state == "warn"


def test_a_socket_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    assert doctor.check_socket(tmp_path / "none.sock").state == "fail"


def test_there_may_be_a_configuration_file(home: Path) -> None:
    paths = Paths.of(os.environ)
    assert "every default holds" in doctor.check_config(paths).text
    paths.config.mkdir(parents=True)
    paths.config_file.write_text("")
    assert "in order" in doctor.check_config(paths).text
