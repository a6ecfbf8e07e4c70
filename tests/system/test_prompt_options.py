"""What a prompt may ask for, from the command line to the bytes that reach the model."""

import base64
import json
from typing import Any

import pytest

from tests.system.test_terminal import Terminal
from tests.system.world import World

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PERSON = "name, age int"
ADA = '{"name": "Ada", "age": 36}'


def requests(world: World) -> list[dict[str, Any]]:
    assert world.model is not None
    return world.model.requests()


def images_in(message: dict[str, Any]) -> list[bytes]:
    """The images of a message, decoded."""
    content = message["content"]
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


# ---- answers that must fit ----------------------------------------------------------


def test_an_answer_that_fits_is_all_of_standard_output(world: World) -> None:
    result = world.ask("--schema", PERSON, f"ECHO:{ADA}")
    assert (result.code, result.out) == (0, f"{ADA}\n")
    (request,) = requests(world)
    sent = request["response_format"]["json_schema"]
    assert sent["schema"]["required"] == ["name", "age"]
    assert sent["strict"] is True


def test_a_fence_is_taken_away(world: World) -> None:
    world.home.joinpath("person.json").write_text('{"type": "string"}')
    result = world.ask("--schema", "person.json", 'ECHO:"fine"')
    assert (result.code, result.out) == (0, '"fine"\n')


def test_an_answer_that_does_not_fit_is_asked_for_once_more(world: World) -> None:
    result = world.ask("-s", "work", "--schema", PERSON, f"MEND:{ADA}")
    assert (result.code, result.out) == (0, f"{ADA}\n")
    first, second = requests(world)
    assert [message["role"] for message in second["messages"][-3:]] == [
        "user",
        "assistant",
        "user",
    ]
    assert second["messages"][-2]["content"] == "Surely."
    assert "is not JSON" in second["messages"][-1]["content"]
    assert second["response_format"] == first["response_format"]
    types = [event["type"] for event in world.events("work")]
    assert types.count("completion_finished") == 2
    assert types.count("turn_finished") == 1


def test_two_answers_that_do_not_fit_are_a_failure(world: World) -> None:
    result = world.ask("-s", "work", "--schema", PERSON, 'ECHO:{"name": 3, "age": 36}')
    assert (result.code, result.out) == (1, "")
    assert "The answer is not JSON" in result.err  # the second one, to the objection
    assert len(requests(world)) == 2
    (end,) = [event for event in world.events("work") if event["type"] == "turn_finished"]
    assert (end["outcome"], end["code"], end["reason"]) == ("failed", 1, "schema_mismatch")
    # The conversation goes on, without the schema.
    assert world.ask("-s", "work", "ECHO:all the same").out == "all the same\n"
    assert "response_format" not in requests(world)[-1]


def test_with_json_the_second_answer_is_seen_to_come(world: World) -> None:
    result = world.ask("--json", "--schema", PERSON, f"MEND:{ADA}")
    events = [json.loads(line) for line in result.out.splitlines()]
    said = [event["item"] for event in events if event["type"] == "item_added"]
    assert [item["type"] for item in said] == [
        "assistant_message",
        "user_message",
        "assistant_message",
    ]
    assert (result.code, events[-1]["type"]) == (0, "turn_finished")


def test_a_model_that_takes_no_schema_is_told(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[models."openai/fake"]\njson_schema = false\nsystem_role = "user"\n')
    result = world.ask("--schema", PERSON, f"ECHO:{ADA}")
    assert (result.code, result.out) == (0, f"{ADA}\n")
    (request,) = requests(world)
    assert "response_format" not in request
    (message,) = request["messages"]
    assert message["role"] == "user"
    assert '"required": ["name", "age"]' in message["content"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('{"type": "int"}', "The schema cannot be used: $.type: 'int' is not valid"),
        ('{"$ref": "http://127.0.0.1:9/x"}', "leads nowhere in it, and nothing is fetched"),
        ("person.json", "'person.json' is no field of a schema, and no file of that name"),
    ],
)
def test_a_schema_that_is_none_is_refused_before(world: World, schema: str, message: str) -> None:
    result = world.ask("--json", "--schema", schema, "hi")
    assert result.code == 2
    assert message in result.err
    assert json.loads(result.out)["data"]["reason"] == "bad_schema"
    assert requests(world) == []
    assert json.loads(world.ok("history", "list", "--json").out) == []


# ---- images --------------------------------------------------------------------------


def test_an_image_reaches_the_model_and_stays_in_the_conversation(world: World) -> None:
    world.home.joinpath("cat.jpg").write_bytes(PNG)  # the name lies
    assert world.ask("-s", "work", "-a", "cat.jpg", "ECHO:a cat").out == "a cat\n"
    assert world.ask("-s", "work", "-m", "openai/fake-large", "ECHO:still").out == "still\n"
    first, second = requests(world)
    assert images_in(first["messages"][-1]) == [PNG]
    assert images_in(second["messages"][0]) == [PNG]
    history = world.ok("history", "show", "work").out
    assert "image/png" in history


def test_an_image_on_standard_input(world: World) -> None:
    assert world.ask("-a", "-", "ECHO:a cat", stdin=PNG).out == "a cat\n"
    assert images_in(requests(world)[0]["messages"][-1]) == [PNG]


def test_a_file_that_is_no_image_is_refused_before(world: World) -> None:
    world.home.joinpath("notes.png").write_text("no picture")
    result = world.ask("-a", "notes.png", "hi")
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [
        "notes.png is no image of the kinds that models take: PNG, JPEG, GIF or WebP.",
        "Attach text with -f.",
    ]
    assert requests(world) == []


def test_a_model_that_cannot_see_is_not_shown_anything(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[models."openai/fake"]\nimages = false\n')
    world.home.joinpath("cat.png").write_bytes(PNG)
    result = world.ask("-a", "cat.png", "hi")
    assert result.code == 2
    assert "openai/fake cannot see images." in result.err
    assert requests(world) == []


# ---- the rest ------------------------------------------------------------------------


def test_what_the_model_is_asked_for_arrives(world: World) -> None:
    options = ("--temperature", "0.5", "--stop", "END", "--stop", "\n\n", "--effort", "low")
    result = world.ask(*options, "--max-output-tokens", "7", "ECHO:yes")
    assert (result.code, result.out) == (0, "yes\n")
    (request,) = requests(world)
    assert request["temperature"] == 0.5
    assert request["stop"] == ["END", "\n\n"]
    assert request["reasoning_effort"] == "low"
    assert 7 in (request.get("max_tokens"), request.get("max_completion_tokens"))


@pytest.mark.parametrize("long_way", [False, True])
def test_thoughts_are_dimmed_on_a_terminal(world: World, long_way: bool) -> None:
    world.ok("ECHO:first")  # the daemon runs, and the short way is taken
    terminal = Terminal(world, *(("--usage",) if long_way else ()), "THINK")
    assert terminal.finish() == 0
    assert "\x1b[2mLet me think.\x1b[0m\r\nDone.\r\n" in terminal.screen


def test_thoughts_are_not_shown_elsewhere_nor_when_quiet(world: World) -> None:
    result = world.ask("THINK")
    assert result.out == "Done.\n"
    assert "think" not in result.err
    terminal = Terminal(world, "-q", "THINK")
    assert terminal.finish() == 0
    assert terminal.screen == "Done.\r\n"


def test_thoughts_are_deltas_in_json(world: World) -> None:
    result = world.ask("--json", "THINK")
    events = [json.loads(line) for line in result.out.splitlines()]
    thoughts = [e["text"] for e in events if e["type"] == "delta" and e["kind"] == "reasoning"]
    assert "".join(thoughts) == "Let me think."
