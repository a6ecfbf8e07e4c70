"""Texts are read from the sources as they stand there, and what is not known there is a hole."""

import ast

import pytest

from tests.house.texts import (
    Place,
    fill_specs,
    find_texts,
    is_said,
    read_module,
    read_modules,
    walk,
)

SOURCE = """
LIMIT = 5
NAME = "the file"
RULE = "Names are short. " "No slash."
LONG = f"At most {LIMIT} of {NAME}."
PARTS = ("One.", "Two.")

def explain(error, is_new):
    if is_new:
        return f"{error} is new."
    return "It is old."

def endless():
    return endless()

class Thing:
    def say(self):
        return "Said by a method."

def use(given, flag):
    local = "A local." if flag else "Another."
    again = again + "x"
    say(THE)
"""


def read(expression: str) -> list[str]:
    module = read_module("x", SOURCE.replace("THE", expression))
    for node, place in walk(module):
        match node:
            case ast.Call(func=ast.Name(id="say"), args=[text]):
                return find_texts(text, place)
            case _:
                pass
    raise AssertionError


@pytest.mark.parametrize(
    ("expression", "texts"),
    [
        ('"Plain."', ["Plain."]),
        ('f"{given} of {LIMIT} in {NAME}: {given!r:>4}"', ["… of 5 in the file: …"]),
        ('"a " + given', ["a …"]),
        ('"%s is %d" % (given, LIMIT)', ["… is 5"]),
        ('"{name} is gone".format(name=given)', ["… is gone"]),
        ('" ".join(PARTS)', ["One. Two."]),
        ("RULE", ["Names are short. No slash."]),
        ("LONG", ["At most 5 of the file."]),
        ("local", ["A local.", "Another."]),
        ("again", ["…"]),
        ("given", ["…"]),
        ("given.message", ["…"]),
        ("explain(given, True)", ["… is new.", "It is old."]),
        ("endless()", ["…"]),
        ("self.say()", ["Said by a method."]),
        ('given or "Nothing."', ["…", "Nothing."]),
        ("nowhere.imported", ["…"]),
    ],
)
def test_text_is_read(expression: str, texts: list[str]) -> None:
    assert read(expression) == texts


def test_a_constant_of_another_module_is_found() -> None:
    modules = read_modules()
    place = Place(modules["askd.jobs.schedule"])
    text = ast.parse("DELETED", mode="eval").body
    assert find_texts(text, place) == ["Its conversation was deleted."]


def test_specifiers_are_filled_in_their_order() -> None:
    assert fill_specs("%s of %d: 5 %%, %.40s", [["a b"]]) == ["a b of …: 5 %, …"]


def test_holes_alone_say_nothing() -> None:
    assert not is_said("…: … (5)")
    assert is_said("… is gone")
