"""Settings become the values that the rooms take, with what is known filled in."""

import json
from typing import Any, ClassVar

import pytest

from askd.config import parse_settings
from askd.providers.base import Price
from askd.room_settings import (
    configure_models,
    read_commands,
    read_context,
    read_instructions,
    read_local,
    read_models,
    read_providers,
)
from askd.sessions.rules import ContextRules, InstructionRules, Thresholds
from askd.tools.shell import CommandRules


def test_a_known_name_needs_no_address() -> None:
    (one,) = read_providers(parse_settings("[providers.anthropic]\n", "c"))
    assert (one.dialect, one.api_key_env) == ("anthropic", "ANTHROPIC_API_KEY")
    assert one.base_url == "https://api.anthropic.com/v1"
    assert one.is_configured


def test_what_is_said_goes_before_what_is_known() -> None:
    text = "[providers.openai]\ndialect = 'openai-chat'\nbase_url = 'http://127.0.0.1:1/v1/'\n"
    (one,) = read_providers(parse_settings(text + "api_key_file = '/k'\n", "c"))
    assert (one.dialect, one.base_url) == ("openai-chat", "http://127.0.0.1:1/v1")
    assert (one.api_key_env, one.api_key_file, one.default_model) == (None, "/k", None)


@pytest.mark.parametrize(
    ("dialect", "address"),
    [("ollama", "http://127.0.0.1:11434"), ("copilot", "https://api.githubcopilot.com")],
)
def test_a_vendors_dialect_says_where_it_is(dialect: str, address: str) -> None:
    (one,) = read_providers(parse_settings(f"[providers.x]\ndialect = '{dialect}'\n", "c"))
    assert one.base_url == address


def test_what_is_said_of_a_model() -> None:
    text = """
    [models."a/b"]
    context_window = 1000
    temperature = 0.5
    stop = ["END"]
    effort = "low"
    images = true
    system_role = "user"
    json_schema = false
    input_price = 1.0
    output_price = 2.0
    """
    found = read_models(parse_settings(text, "c"))["a/b"]
    assert (found.context_window, found.max_output_tokens) == (1000, None)
    assert found.price == Price(input=1.0, output=2.0)
    manners = found.manners
    assert (manners.temperature, manners.stop, manners.effort) == (0.5, ("END",), "low")
    assert (manners.images, manners.system_as_user, manners.schema) == (True, True, False)
    assert manners.tools
    assert found.tools is None  # not said: its provider may know


def test_what_is_said_of_tools_is_not_what_is_believed() -> None:
    for said in (True, False, "schema"):
        found = read_models(parse_settings(f'[models."a/b"]\ntools = {json.dumps(said)}', "c"))
        assert (found["a/b"].tools, found["a/b"].manners.tools) == (said, said)


def test_the_rules_of_a_context_are_the_defaults_of_the_settings() -> None:
    assert read_context(parse_settings("", "c")) == ContextRules()


def test_every_rule_of_a_context_can_be_set() -> None:
    text = """
[context]
compaction = false
compaction_threshold = 0.5
compaction_model = "a/small"
summary_tokens = 300
user_message_tokens = 1000
prune_threshold = 0.6
min_retain_turns = 3
max_history_messages = 40
[models."a/b"]
compaction_threshold = 0.7
"""
    assert read_context(parse_settings(text, "c")) == ContextRules(
        compaction=False,
        model="a/small",
        compaction_threshold=0.5,
        prune_threshold=0.6,
        summary_tokens=300,
        user_tokens=1000,
        min_turns=3,
        max_messages=40,
        by_model={"a/b": Thresholds(compaction=0.7)},
    )


def test_what_projects_may_say() -> None:
    assert read_instructions(parse_settings("", "c")) == InstructionRules()
    text = "[instructions]\nenabled = false\nfiles = ['X.md', 'Y.md']\n"
    assert read_instructions(parse_settings(text, "c")) == InstructionRules(
        enabled=False, files=("X.md", "Y.md")
    )


def test_the_embedded_model() -> None:
    local = read_local(parse_settings("[local]\ncontext_window = 99\n", "c"))
    assert (local.context_tokens, local.model_path) == (99, None)


def test_what_commands_may() -> None:
    assert read_commands(parse_settings("", "c")) == CommandRules()
    text = "[tools]\ncommand_timeout_s = 5\nnetwork = true\nwritable = ['/var/x']\n"
    assert read_commands(parse_settings(text, "c")) == CommandRules(
        timeout_s=5.0, network=True, writable=("/var/x",)
    )


@pytest.mark.parametrize(("model", "chosen"), [(None, "a/b"), ("c/d", "c/d")])
def test_the_environments_model_comes_before_the_settings(model: str | None, chosen: str) -> None:
    class Models:
        said: ClassVar[dict[str, Any]] = {}

        def configure(self, **said: Any) -> None:
            self.said.update(said)

    models = Models()
    settings = parse_settings("default_model = 'a/b'\nlocal_only = true\n", "c")
    configure_models(models, settings, model=model)  # type: ignore[arg-type]  # all that it calls
    assert models.said["default_model"] == chosen
    assert models.said["local_only"] is True
