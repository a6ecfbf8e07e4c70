"""What a template's text means: its settings, its prompt, and every way to get them wrong."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.exits import Failed
from ask.templates import (
    READERS,
    Template,
    check_name,
    check_parameters,
    fill_text,
    is_template_name,
    parse_template,
)

WHOLE = """\
+++
description = "Look for mistakes."
model = "openai/gpt-5"
system = "You know $language."
tools = "read, web_fetch"
approve = "ask"
temperature = 0
max_output_tokens = 500
effort = "low"
extract = true

[defaults]
language = "Python"
depth = 3
+++

Look at $file ($language, $depth):

$input

"""


def refuse(text: str) -> Failed:
    with pytest.raises(Failed) as caught:
        parse_template(text, "t")
    assert (caught.value.code, caught.value.data["reason"]) == (2, "bad_template")
    return caught.value


def read(text: str) -> None:
    """Read it, or refuse it as a template is refused; anything else fails the test."""
    try:
        template = parse_template(text, "t")
    except Failed:
        assert refuse(text).message.endswith(".")
    else:
        assert template.name == "t"


def head(*lines: str) -> str:
    return "\n".join(["+++", *lines, "+++", "Do it."])


def test_all_that_a_template_may_say() -> None:
    template = parse_template(WHOLE, "review")
    assert template == Template(
        name="review",
        description="Look for mistakes.",
        model="openai/gpt-5",
        system="You know $language.",
        tools=("read", "web_fetch"),
        approve="ask",
        temperature=0.0,
        max_output_tokens=500,
        effort="low",
        extract=True,
        defaults={"language": "Python", "depth": "3"},
        body="Look at $file ($language, $depth):\n\n$input",
    )
    assert template.parameters == ("file", "language", "depth")
    assert template.takes_input
    assert template.first_line == "Look at $file ($language, $depth):"
    assert set(READERS) == set(Template.__slots__) - {"name", "body"}


@pytest.mark.parametrize(
    "text", ["Say hi.", "\ufeffSay hi.\r\n", "\n\nSay hi.\n\n", "+++\n+++\nSay hi."]
)
def test_a_prompt_may_be_all_of_it(text: str) -> None:
    template = parse_template(text, "t")
    assert template == Template(name="t", body="Say hi.")
    assert (template.parameters, template.takes_input) == ((), False)


def test_settings_may_be_all_of_it() -> None:
    template = parse_template('+++\nsystem = "Be brief."\n+++\n', "t")
    assert (template.system, template.body, template.first_line) == ("Be brief.", "", "")


def test_a_rule_in_a_prompt_is_no_beginning_of_settings() -> None:
    assert parse_template("a\n+++\nb\n+++\n", "t").body == "a\n+++\nb\n+++"
    assert parse_template("---\na", "t").body == "---\na"


@pytest.mark.parametrize(
    ("said", "schema"),
    [
        ('schema = "name, age int"', {"name": "string", "age": "integer"}),
        ("""schema = '{"properties": {"name": {"type": "string"}}}'""", {"name": "string"}),
        ('[schema.properties.name]\ntype = "string"', {"name": "string"}),
    ],
)
def test_a_schema_in_each_of_its_forms(said: str, schema: dict[str, str]) -> None:
    found = json.loads(parse_template(head(said), "t").schema or "")
    assert {name: each["type"] for name, each in found["properties"].items()} == schema


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("", 'modle = "x"'), "line 3: there is no setting 'modle'"),
        (("[default]", "a = 1"), "line 2: there is no setting 'default'"),
        (("# c", "model = 5"), "line 3: model is a text in quotes"),
        (('model = " "',), "line 2: model is a text in quotes"),
        (('system = "a\\u0000"',), "line 2: system holds a null"),
        (('approve = "yes"',), "line 2: approve is one of deny, ask, auto"),
        (('effort = ["low"]',), "line 2: effort is one of none, minimal"),
        (("temperature = -1",), "line 2: temperature is a number from zero"),
        (("temperature = true",), "line 2: temperature is a number"),
        (("temperature = nan",), "line 2: temperature is a number"),
        ((f"temperature = 1{'0' * 400}",), "line 2: temperature is a number"),
        (("max_output_tokens = 0",), "line 2: max_output_tokens is a whole number"),
        (("max_output_tokens = 1.5",), "line 2: max_output_tokens is a whole number"),
        (('extract = "yes"',), "line 2: extract is true or false"),
        (("tools = []",), "line 2: tools has an empty name"),
        (('tools = ["read", 3]',), "line 2: tools is a text such as"),
        (('tools = "a,,b"',), "line 2: tools has an empty name"),
        (('schema = "age years"',), "line 2: 'age years' is no field of a schema"),
        (("schema = '{'",), "line 2: The schema is not valid JSON"),
        (("schema = {a = 2020-01-01}",), "line 2: schema holds what JSON has no word for"),
        (("schema = 3",), "line 2: schema is a text"),
        (("defaults = 3",), "line 2: defaults is a table"),
        (("[defaults]", "a = []"), "line 2: defaults has no text or number for 'a'"),
        (("[defaults]", '"a-b" = 1'), "line 2: defaults names 'a-b'"),
        (("[defaults]", "", "langage = 1"), "line 4: there is no $langage to have a default"),
        (('system = "About $input"',), "line 2: the system prompt cannot hold $input"),
        (("extract = true", 'schema = "a"'), "extract and schema exclude each other"),
        (('model = "a', 'x = "b"'), "not valid TOML: Illegal character '\\n' (at line 2"),
        (("a = " + "[" * 9000,), "not valid TOML: they are nested too deep"),
        ((f"# {'x' * 40_000}",), "more than 32768 characters"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(lines: tuple[str, ...], said: str) -> None:
    error = refuse(head(*lines))
    assert error.message.startswith("The template 't' cannot be used: ")
    assert said in error.message


def test_the_nearest_is_named_or_all_of_them() -> None:
    assert refuse(head('modle = "x"')).hint == "Did you mean 'model'?"
    assert "There are: description, model, " in (refuse(head("zzzz = 1")).hint or "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("+++\n\n+++\n \n", "it is empty"),
        ('+++\nmodel = "a"\n', "line 1: its settings have no end"),
        ("---\nmodel: a\n---\nhi", "its settings stand between +++, and are TOML"),
        (" ".join(f"$p{n}" for n in range(65)), "more than 64 parameters"),
    ],
)
def test_texts_that_are_no_templates(text: str, said: str) -> None:
    assert said in refuse(text).message


@given(st.text(max_size=200).map(lambda text: f"+++\n{text}\n+++\nhi"))
def test_any_settings_are_read_or_refused_with_a_sentence(text: str) -> None:
    read(text)


@given(
    st.dictionaries(
        st.sampled_from([*READERS, "other"]),
        st.sampled_from(["1", '"x"', "true", "[]", "{}", "nan", "2020-01-01", '["a"]', "{a = 1}"]),
        max_size=4,
    )
)
def test_no_value_of_any_type_is_more_than_refused(said: dict[str, str]) -> None:
    lines = [f"{key} = {value}" for key, value in said.items()]
    assert tomllib.loads("\n".join(lines)).keys() == said.keys()
    read(head(*lines))


# ---- names -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "review-2", "mit Wörtern", "x.y", "名" * 64])
def test_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "a/b", "../x", ".x", "-x", "a\nb", "a\x1b[2J", "x" * 65, "a:b", " ", "\udcff", "a\0"],
)
def test_what_is_no_name(name: str) -> None:
    assert not is_template_name(name)
    with pytest.raises(Failed, match="cannot be one") as caught:
        check_name(name)
    assert (caught.value.code, caught.value.data["reason"]) == (2, "bad_name")


# ---- filling it --------------------------------------------------------------------


def fill(text: str, **values: str) -> str:
    template = parse_template(text, "t")
    check_parameters(template, {key: said for key, said in values.items() if key != "input"})
    return fill_text(template, template.body, values)


def test_values_win_over_defaults() -> None:
    text = '+++\n[defaults]\na = "one"\ninput = "nothing"\n+++\n$a $b $input'
    assert fill(text, b="2") == "one 2 nothing"
    assert fill(text, a="$b", b="$$", input="${a}") == "$b $$ ${a}"


def test_all_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(Failed) as caught:
        fill("$file ${lines} $input")
    assert caught.value.message == "The template 't' needs file, lines."
    assert (caught.value.hint or "").startswith("Say it: -p file=... -p lines=...")
    with pytest.raises(Failed, match="needs something to work on") as caught:
        fill("$input")
    assert (caught.value.code, caught.value.data["reason"]) == (2, "empty_prompt")


@pytest.mark.parametrize(
    ("values", "said", "hint"),
    [
        ({"flie": "x"}, "has no parameter 'flie'", "Did you mean 'file'?"),
        ({"zz": "x"}, "has no parameter 'zz'", "It has: file."),
        ({"input": "x"}, "$input is what is asked", "Say it as the prompt: ask -t t ..."),
    ],
)
def test_what_is_left_over_is_refused(values: dict[str, Any], said: str, hint: str) -> None:
    template = parse_template("$file $input", "t")
    with pytest.raises(Failed) as caught:
        check_parameters(template, values)
    assert said in caught.value.message
    assert caught.value.hint == hint


def test_one_without_parameters_says_so() -> None:
    with pytest.raises(Failed) as caught:
        check_parameters(parse_template("hi", "t"), {"a": ""})
    assert caught.value.hint == "It has none."
