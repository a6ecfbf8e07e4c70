"""What an import would do: who gets which name, who is left alone, and what is said of it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ask.mcp_files import Listing
from ask.mcp_outcomes import (
    Outcome,
    describe_outcome,
    fit_name,
    is_name,
    lay_out_outcome,
    plan_import,
    show_start,
)

TIME = {"command": "uvx", "args": ["--key", "sk-canary"]}


def plan(*listings: Listing, known: tuple[str, ...] = (), force: bool = False) -> list[Outcome]:
    return list(plan_import(listings, known, environ={}, force=force))


def of(source: str, **servers: Any) -> Listing:
    return Listing(source=source, servers=servers)


def test_the_first_of_a_name_has_it_and_what_is_there_stays() -> None:
    outcomes = plan(
        of("a", time=TIME, git={"command": "g"}), of("b", time={"url": "http://h"}), known=("git",)
    )
    assert [(each.name, each.source, each.state) for each in outcomes] == [
        ("time", "a", "added"),
        ("git", "a", "skipped"),
        ("time", "b", "skipped"),
    ]
    assert [each.settings for each in outcomes] == [TIME, None, None]


def test_by_force_it_is_replaced_once() -> None:
    outcomes = plan(of("a", time=TIME), of("b", time={"command": "y"}), known=("time",), force=True)
    assert [each.state for each in outcomes] == ["replaced", "skipped"]


def test_one_that_cannot_be_taken_leaves_its_name_to_the_next() -> None:
    outcomes = plan(of("a", time={"type": "sse", "url": "http://h"}), of("b", time=TIME))
    assert [each.state for each in outcomes] == ["refused", "added"]
    assert outcomes[0].why is not None
    assert outcomes[0].why.startswith("speaks SSE")


def test_two_names_that_become_one() -> None:
    listing = Listing(source="a", servers={"My Notes": TIME, "My/Notes": TIME})
    first, second = plan(listing)
    assert (first.name, first.notes, first.state) == (
        "My-Notes",
        ("it was called 'My Notes'",),
        "added",
    )
    assert (second.named, second.state) == ("My/Notes", "skipped")


def test_what_is_said_of_each_holds_no_argument() -> None:
    notes = ("left out: timeout",)
    added = Outcome(
        name="t", named="T!", source="/f", state="added", notes=notes, settings={**TIME}
    )
    assert lay_out_outcome(added, dry_run=False) == [
        "Added: t (uvx ...), /f",
        "  left out: timeout",
    ]
    assert lay_out_outcome(added, dry_run=True)[0] == "Would add: t (uvx ...), /f"
    skipped = Outcome(name="t", named="t", source="/f", state="skipped")
    assert lay_out_outcome(skipped, dry_run=False) == [
        "Skipped: t (there is one; --force replaces it), /f"
    ]
    refused = Outcome(name="t", named="T!", source="/f", state="refused", why="has both")
    assert lay_out_outcome(refused, dry_run=False) == ["Not taken: T!, for it has both (/f)"]
    off = Outcome(
        name="t",
        named="t",
        source="/f",
        state="replaced",
        settings={"command": "x", "enabled": False},
    )
    assert lay_out_outcome(off, dry_run=False) == ["Replaced: t (x, not enabled), /f"]
    assert "canary" not in f"{describe_outcome(added)} {added!r}"
    assert describe_outcome(refused)["why"] == "has both"


def test_an_address_is_shown_without_who_asks_and_what() -> None:
    assert show_start({"url": "https://me:pw@h.example:8/mcp?key=sk"}) == "https://h.example:8"
    assert show_start({"url": "https://h?a@b"}) == "https://h"
    assert show_start({"url": "nonsense"}) == "an address"
    assert show_start({"command": "npx", "args": ["x"]}) == "npx ..."


def test_names_are_changed_as_little_as_can_be() -> None:
    assert fit_name("time") == "time"
    assert fit_name("My Server (v2)") == "My-Server-v2"
    assert fit_name("a__b") == "a_b"
    assert fit_name("@scope/name.js") == "scope-name-js"
    assert fit_name("-x-") == "x"
    assert fit_name("日本") == "server"
    assert fit_name("a" * 40) == "a" * 32


@given(st.text())
def test_any_name_becomes_one_that_fits_and_stays(name: str) -> None:
    fitting = fit_name(name)
    assert is_name(fitting)
    assert not fitting.startswith("-"), "it would be an option"
    assert fit_name(fitting) == fitting
