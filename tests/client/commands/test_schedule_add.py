"""A prompt is settled when it is scheduled: all that it needs is read, and no key is sent."""

import json
from pathlib import Path

import pytest

from ask.commands import schedule_add
from ask.commands.schedule_add import find_zone
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

DAILY = ("schedule", "add", "--cron", "@daily")


@pytest.mark.parametrize(
    ("tz", "zone"),
    [(None, None), ("", None), ("Europe/Berlin", "Europe/Berlin"), (":Asia/Tokyo", "Asia/Tokyo")],
)
def test_the_zone_is_this_shells(tz: str | None, zone: str | None) -> None:
    assert find_zone({} if tz is None else {"TZ": tz}) == zone


def test_the_id_is_printed_and_when_it_comes(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask(*DAILY, "--name", "night", "-s", "work", "Good", "night.")
    assert (result.code, result.out) == (0, "0000-new\n")
    assert result.err.startswith("Next: ")
    assert ask(*DAILY, "-q", "again").err == ""
    assert json.loads(ask(*DAILY, "--json", "again").out)["cron"] == "@daily"
    (params, *_) = daemon.called("schedule/add")
    assert (params["cron"], params["name"], params["session"]) == ("@daily", "night", "work")
    assert (params["zone"], params["missed"]) == ("UTC", "once")
    assert [part["text"] for part in params["parts"]] == ["Good night."]
    assert params["options"] == {"detach": True}
    assert params["cwd"]


def test_keys_stay_where_they_are(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    ask(*DAILY, "hello")
    assert "sk-secret" not in repr(daemon.called("schedule/add"))


def test_options_files_and_mentions_are_settled_now(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path
) -> None:
    note, other = tmp_path / "note.txt", tmp_path / "other.txt"
    note.write_text("Buy milk.")
    other.write_text("Or bread.")
    options = ("-m", "a/b", "-T", "read", "--approve", "deny", "--timeout", "60", "--notify")
    result = ask(*DAILY, *options, "--schema", "name", "-f", str(note), f"What of @{other}?")
    assert result.code == 0, result.err
    (params,) = daemon.called("schedule/add")
    said = {key: value for key, value in params["options"].items() if key != "answer_schema"}
    assert said == {
        "model": "a/b",
        "tools": ["read"],
        "approve": "deny",
        "timeout_s": 60.0,
        "notify": True,
        "detach": True,
    }
    assert params["options"]["answer_schema"]["properties"]
    texts = [part["text"] for part in params["parts"]]
    assert [text.strip() for text in texts[1:]] == ["Buy milk.", "Or bread."]


def test_a_warning_is_said(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedule_warning = "As things are, it would be refused: no key.\x1b[2J"
    result = ask(*DAILY, "-q", "hello")
    assert (result.code, result.out) == (0, "0000-new\n")
    assert result.err == "As things are, it would be refused: no key.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("schedule", "add", "hello"), "Missing option '--cron'"),
        (DAILY, 'The prompt is empty.\nTry: ask schedule add --cron "0 8 * * 1-5"'),
        ((*DAILY, "-p", "a=b", "x"), "-p is for a template"),
        ((*DAILY, "--stop", "", "x"), "--stop needs a text"),
        ((*DAILY, "--missed", "never", "x"), "Invalid value for '--missed'"),
        ((*DAILY, "--name", "a\udcff", "x"), "--name is not valid UTF-8."),
        ((*DAILY, "-f", "nowhere.txt", "x"), "nowhere.txt cannot be read"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(
    daemon: FakeDaemon, ask: Ask, words: tuple[str, ...], said: str
) -> None:
    result = ask(*words)
    assert result.code == 2
    assert said in result.err
    assert daemon.called("schedule/add") == []


def test_a_field_for_seconds_is_pointed_out(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("schedule", "add", "--cron", "0 0 8 * * *", "hello")
    assert result.code == 0
    assert result.err.startswith("Six fields: the first one counts seconds.\nNext: ")
    assert "Six" not in ask("schedule", "add", "-q", "--cron", "0 0 8 * * *", "hello").err
    assert "Six" not in ask("schedule", "add", "--cron", "0 8 * * *", "hello").err


def test_a_zone_of_the_shell_that_is_none_is_said_to_be_of_the_shell(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.refusals["schedule/add"] = Refusal("bad_zone", "There is no time zone 'CET-1'.")
    monkeypatch.setenv("TZ", "CET-1")
    result = ask(*DAILY, "hello")
    assert result.code == 2
    assert result.err == (
        "There is no time zone 'CET-1'.\n"
        "It is the one that this shell goes by (TZ). Name another: --zone Europe/Berlin\n"
    )
    assert "TZ" not in ask(*DAILY, "--zone", "CET-1", "hello").err


def test_an_image_cannot_be_scheduled(daemon: FakeDaemon, ask: Ask, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(32))
    result = ask(*DAILY, f"What is @{picture}?")
    assert (result.code, daemon.called("schedule/add")) == (2, [])


def test_a_file_names_the_zone_that_it_is(tmp_path: Path) -> None:
    zones = tmp_path / "zoneinfo" / "Europe"
    zones.mkdir(parents=True)
    (zones / "Berlin").touch()
    link = tmp_path / "localtime"
    link.symlink_to(zones / "Berlin")
    for said in (str(link), f":{link}", str(zones / "Berlin")):
        assert find_zone({"TZ": said}) == "Europe/Berlin"
    assert find_zone({"TZ": str(tmp_path / "copy")}) is None


def test_from_afar_it_is_the_zone_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    monkeypatch.setattr(schedule_add, "LOCALTIME", str(link))
    assert find_zone({"ASK_HOST": "ssh://far"}) == "Asia/Tokyo"
    assert find_zone({"ASK_HOST": "ssh://far", "TZ": "UTC"}) == "UTC"
    assert find_zone({}) is None
