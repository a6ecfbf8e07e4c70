"""Programs that run what their arguments say are known by their words."""

import pytest

from askd.core.carriers import (
    CARRIERS,
    CHANGERS,
    RUNNING_OPTIONS,
    find_carrier,
    find_name,
    has_running_option,
    split_table,
)


@pytest.mark.parametrize(
    ("line", "length"),
    [
        ("sudo rm", 1),
        ("/usr/bin/sudo rm", 1),
        ("uv run rm", 2),
        ("uv tool run x", 3),
        ("uv sync", 0),
        ("git bisect run make", 3),
        ("git bisect good", 0),
        ("docker ps", 0),
        ("ls sudo", 0),
    ],
)
def test_how_many_words_carry_a_command(line: str, length: int) -> None:
    assert find_carrier(line.split()) == length


def test_that_the_tables_hold_words_and_nothing_else() -> None:
    assert all(word and word == word.strip(",") for each in CARRIERS for word in each)
    assert not any(name in CHANGERS for (name, *_) in CARRIERS)
    assert split_table("a b,\n c") == {("a", "b"), ("c",)}


@pytest.mark.parametrize(
    "line",
    [
        "find . -exec rm {} +",
        "find . -execdir rm {} ;",
        "/usr/bin/find . -ok rm {} ;",
        "fd x -x rm",
        "fd x -Hx rm",
        "tar -xf a --checkpoint-action=exec=rm",
        "tar --checkpoint-act exec=rm",
        "tar -Ixz -xf a",
        "git -c alias.x=!rm x",
        "git --config-env=a=b status",
        "git rebase --exec rm",
        "git rebase -xrm",
        "git fetch --upload-pack=rm",
        "git grep -Orm x",
        "rg --pre rm x",
        "rsync -e rm a b",
        "sort --compress-prog=rm a",
    ],
)
def test_which_options_run_a_program(line: str) -> None:
    assert has_running_option(line.split())


@pytest.mark.parametrize(
    "line",
    [
        "find . -name x -delete",
        "find . -executable",
        "git status -x",
        "git switch -c new",
        "git diff --cached",
        "tar -xzf a",
        "tar --",
        "rg --pretty x",
        "sort -r a",
        "ls --exec",
        "",
    ],
)
def test_which_do_not(line: str) -> None:
    assert not has_running_option(line.split())


def test_that_every_option_of_the_table_is_found() -> None:
    for program, options in RUNNING_OPTIONS.items():
        for option in options:
            assert has_running_option([*program.split(), option])


def test_that_a_program_has_one_name() -> None:
    assert [find_name(each) for each in ("rm", "/bin/rm", "./rm", "a/b/")] == ["rm", "rm", "rm", ""]
