"""A conversation as a page: every message under its heading, nothing that ends its own frame."""

from hypothesis import given
from hypothesis import strategies as st

from askd.core.conversation import fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    SettingsChanged,
    Titled,
)
from askd.core.items import AssistantMessage, Notice, Text, ToolCall, ToolOutput, UserMessage
from askd.core.markdown import MarkdownExport, fence


def export(*bodies: Body) -> str:
    log = [Event("c", seq, 1_767_225_600.0, body) for seq, body in enumerate(bodies, start=1)]
    exporter = MarkdownExport(fold("c", log))
    page = exporter.begin() + b"".join(exporter.feed(event, {}) for event in log)
    return (page + exporter.end()).decode()


def test_a_page() -> None:
    call = ToolCall("c1", "calc", '{"a": 2}')
    page = export(
        ConversationCreated("c", "work"),
        SettingsChanged("openai/gpt-5"),
        PromptAccepted("t", "k", (UserMessage("t.0", (Text("2+2?"),)),)),
        ItemAdded("t", AssistantMessage("t.1", calls=(call,)), 1),
        ItemAdded("t", ToolOutput("t.1.1", "c1", "calc", (Text("4"),)), 1),
        ItemAdded("t", AssistantMessage("t.2", (Text("Four.\n"),)), 2),
        ItemAdded(None, Notice("n", "User viewed help")),
        Titled("Adding\nup"),
    )
    assert page == (
        "# Adding up\n\n- ID: c\n- Name: work\n- Model: openai/gpt-5\n"
        "- Begun: 2026-01-01T00:00:00.000Z\n"
        "\n## User (2026-01-01T00:00:00.000Z)\n\n2+2?\n"
        "\n## Assistant (2026-01-01T00:00:00.000Z)\n"
        '\nTool call `calc` (c1):\n\n```\n{"a": 2}\n```\n'
        "\n## Tool (2026-01-01T00:00:00.000Z)\n\n`calc`: c1\n\n```\n4\n```\n"
        "\n## Assistant (2026-01-01T00:00:00.000Z)\n\nFour.\n"
        "\n## System (2026-01-01T00:00:00.000Z)\n\nUser viewed help\n"
    )


def test_an_empty_conversation_is_a_heading() -> None:
    page = export(ConversationCreated("c"))
    assert page.startswith("# Untitled\n")
    assert "- Model: unknown\n" in page


@given(st.text(st.sampled_from("`~a \n"), max_size=30))
def test_no_text_ends_its_own_fence(text: str) -> None:
    first, *inside, last, after = fence(text).split("\n")
    assert (first, after) == (last, "")
    assert all(each.strip() != first for each in inside)
