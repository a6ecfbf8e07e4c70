"""A conversation as a rollout: the first line names the provider that answered."""

import json

from askd.core.codex_export import CodexExport, find_model
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    PromptAccepted,
    SettingsChanged,
    TurnStarted,
)


def log(*bodies: Body) -> list[Event]:
    return [Event("c", seq, 1.0, body) for seq, body in enumerate(bodies, start=1)]


def test_the_lines_begin_with_the_meta() -> None:
    events = log(ConversationCreated("c"), SettingsChanged("openai/gpt-5"))
    exporter = CodexExport(fold("c", events), version="9.9")
    text = exporter.begin() + b"".join(exporter.feed(each, {}) for each in events) + exporter.end()
    first, *rest = [json.loads(raw) for raw in text.splitlines()]
    assert first["type"] == "session_meta"
    assert first["payload"]["model_provider"] == "openai"
    assert [each["type"] for each in rest] == ["ask_event", "ask_event"]


def test_the_model_is_the_setting_else_the_one_that_answered() -> None:
    turns = (PromptAccepted("t", "k", ()), TurnStarted("t", 1, "a/b"))
    assert find_model(fold("c", log(*turns))) == "a/b"
    assert find_model(fold("c", log(*turns, SettingsChanged("x/y")))) == "x/y"
    assert find_model(fold("c", log(PromptAccepted("t", "k", ())))) is None
