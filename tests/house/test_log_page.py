"""The page of the log names every record that the daemon can write, and says what each means."""

import ast

from tests.house import log_page
from tests.house.log_page import Record
from tests.house.texts import read_modules

RUN = "run: python -m tests.house.log_page; then say in the page what a new record means"


def read_page() -> str:
    return log_page.PATH.read_text(encoding="utf-8")


def test_page_is_current() -> None:
    page = read_page()
    assert page == log_page.render(log_page.find_meanings(page)), RUN


def test_every_record_has_a_meaning() -> None:
    meanings = log_page.find_meanings(read_page())
    assert [each for each in log_page.find_records() if not meanings.get(each)] == [], RUN


def test_records_of_every_way_to_write_them_are_found() -> None:
    found = log_page.find_records()
    assert {each.level for each in found} == {"INFO", "WARNING", "ERROR", "CRITICAL"}
    assert {each.room for each in found} == set(log_page.ROOMS)
    assert Record("askd", "Ready: pid=…, socket=…", "INFO") in found  # of a logger of that name
    assert not [each for each in found if each.name.startswith("ask.")]


def test_a_text_that_another_function_makes_is_found() -> None:
    name, text = "askd.sessions.findings", "Tool output moved behind its call: tool_call_id=…"
    assert Record(name, text, "WARNING") in log_page.find_records()


def test_every_logger_has_a_name_that_is_looked_for() -> None:
    loggers = {
        name
        for module in read_modules().values()
        for name, value in module.values.items()
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("getLogger")
    }
    assert loggers == set(log_page.LOGGERS)


def test_what_a_page_says_is_kept() -> None:
    meanings = dict.fromkeys(log_page.find_records(), "a | b")
    assert log_page.find_meanings(log_page.render(meanings)) == meanings
