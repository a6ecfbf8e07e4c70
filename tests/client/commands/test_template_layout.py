"""Templates as rows: their names line up, and nothing that others say obeys anybody."""

from typing import Any

from ask.commands.template_layout import describe_prompt, lay_out

ROWS: list[dict[str, Any]] = [
    {
        "name": "tr",
        "description": "Translate\x1b[31m it.",
        "first_line": "Into $to:",
        "parameters": [{"name": "to", "default": "French"}, {"name": "who", "default": None}],
    },
    {"name": "longer", "description": None, "first_line": "Say hi.", "parameters": []},
    {"name": "bad", "error": "It is empty."},
    {"name": "role", "description": None, "first_line": "", "parameters": []},
]


def test_a_template_a_line_and_beneath_it_how_it_begins() -> None:
    assert lay_out(ROWS, None) == [
        "tr      Translate it.",
        "  Into $to:",
        "  [-p to=French] -p who=...",
        "longer  Say hi.",
        "bad     (broken: ask templates show bad)",
        "role",
    ]


def test_on_a_narrow_terminal_what_is_said_is_cut_and_no_name() -> None:
    row = {**ROWS[1], "description": "A long sentence about it."}
    assert lay_out([row], 32)[0] == "longer  A long sentence abo..."
    assert lay_out([row], 12)[0] == "longer"


def test_the_prompt_of_a_server_has_its_name_before_it() -> None:
    optional = {"name": "how", "description": "", "required": False}
    row = {"server": "docs", "name": "review", "description": "", "arguments": [optional]}
    assert lay_out([describe_prompt(row)], None) == ["docs:review", "  [-p how=...]"]
