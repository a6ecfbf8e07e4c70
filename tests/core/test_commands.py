"""Rules about commands: what allows counts for all of a line, what forbids for any of it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.commands import Approval, find_command_rule, is_rule
from askd.core.shell_words import LINE_CHARACTERS

ALLOWED: dict[str, Approval] = {"git status": "auto", "echo": "auto", "ls": "auto"}
HIDDEN = "evil"


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "git status -s --short .",
        "git 'status'",
        "git status; ls",
        "git status && echo done || ls -la",
        "git status | echo 'a; evil'",
        "echo \"evil\" '$X'",
        "ls $HOME *.py 2>/dev/null 2>&1",
        "ls\ngit status\n",
        "echo evil",
    ],
)
def test_what_rules_allow(line: str) -> None:
    assert find_command_rule(line, ALLOWED) == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\n;",
        "git",
        "git push",
        "git statuses",
        "GIT status",
        "git -C x status",
        "/usr/bin/git status",
        "./ls",
        "lsof",
        "git status; git push",
        "git status > f",
        "git status &",
        "X=1 git status",
        "PATH=. ls",
        "\\ls",
        "$X ls",
        "l? x",
        "git stat?s",
        "git $X",
        "git $X status",
        "echo $(ls)",
        "echo `ls`",
        "echo '$(ls)'",
        "ls <(ls)",
        "ls <<< x",
        "cat <<E\nls\nE",
        "sudo ls",
        "env ls",
        "nohup ls",
        "time ls",
        "xargs ls",
        "ls | xargs ls",
        "command ls",
        "exec ls",
        "(ls)",
        "{ ls; }",
        "if ls; then ls; fi",
        "ls 'x",
        "ls # x",
        "a" * LINE_CHARACTERS,
        "ls " + "a" * LINE_CHARACTERS,
    ],
)
def test_what_they_say_nothing_of(line: str) -> None:
    assert find_command_rule(line, ALLOWED) is None


CARRIERS = ("sudo", "env", "xargs", "sh", "bash -c", "find", "git", "eval", "export", "alias")
CARRYING: dict[str, Approval] = dict.fromkeys(CARRIERS, "auto")


@pytest.mark.parametrize(
    "line",
    [
        "sudo evil",
        "sudo -u x evil",
        "env evil",
        "env X=1 evil",
        "xargs evil",
        "sh -c evil",
        "bash -c evil",
        "bash -c 'evil x'",
        "find . -exec evil {} +",
        "git -c alias.x=!evil x",
        "git rebase --exec evil",
        "eval evil",
        "export PATH=/tmp",
        "alias ls=evil",
    ],
)
def test_that_a_rule_for_a_carrier_does_not_allow_what_it_carries(line: str) -> None:
    assert find_command_rule(line, CARRYING) is None


def test_that_a_rule_can_name_what_is_carried() -> None:
    rules: dict[str, Approval] = {"timeout 60 make": "auto", "sudo systemctl status": "auto"}

    assert find_command_rule("timeout 60 make all", rules) == "auto"
    assert find_command_rule("timeout 61 make all", rules) is None
    assert find_command_rule("sudo systemctl status x", rules) == "auto"
    assert find_command_rule("sudo systemctl stop x", rules) is None


@pytest.mark.parametrize(
    "line",
    [
        "rm x",
        "/bin/rm x",
        "./rm x",
        "\\rm x",
        "r''m x",
        '"rm" x',
        "$'\\x72m' x",
        "r${X}m x",
        "ls; rm x",
        "ls\nrm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm x",
        "ls & rm x",
        "X=1 rm x",
        ">f rm x",
        "sudo rm x",
        "sudo -u root rm x",
        "env X=1 rm x",
        "nohup rm x",
        "time -p rm x",
        "find . | xargs -n 1 rm",
        "command rm x",
        "exec rm x",
        "nice -n 5 timeout 5 rm x",
        "echo $(rm x)",
        "echo `rm x`",
        'echo "$(rm x)"',
        "echo $(echo `rm x`)",
        "echo $(echo ')'; rm x)",
        'echo "$(echo ")"; rm x)"',
        "(rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "for x in a; do rm x; done",
        "f() { rm x; }; f",
        "sh -c 'rm x'",
        "bash -c \"bash -c 'rm x'\"",
        "eval 'rm x'",
        "trap 'rm x' EXIT",
        "find . -exec rm {} +",
        "ls <(rm x)",
        "cat <<E\nit's\nE\nrm x",
        "bash <<E\nrm x\nE",
        "ls ${X:-$(rm x)}",
        "! rm x",
        "rm x 'unbalanced",
        "uv run rm x",
        "git bisect run rm x",
        "ls " + "a" * LINE_CHARACTERS + "; rm x",
    ],
)
@pytest.mark.parametrize("approval", ["deny", "ask"])
def test_that_what_forbids_is_found_wherever_it_stands(line: str, approval: Approval) -> None:
    rules: dict[str, Approval] = {"rm": approval, "ls": "auto", "echo": "auto"}

    assert find_command_rule(line, rules) == approval


@pytest.mark.parametrize(
    "line", ["echo rm", "grep rm x", "git commit -m 'rm x; rm y'", "rmdir x", "ls rm", "echo 'rm'"]
)
def test_that_what_is_only_said_forbids_nothing(line: str) -> None:
    assert find_command_rule(line, {"rm": "deny"}) is None


@pytest.mark.parametrize(
    "line",
    ["git push", "git -C x push", "git --no-pager push", "git -c a=b push x", "sudo git push"],
)
def test_that_options_before_a_command_hide_it_from_no_rule_that_forbids(line: str) -> None:
    assert find_command_rule(line, {"git push": "deny"}) == "deny"


def test_that_the_rule_of_the_most_words_counts() -> None:
    rules: dict[str, Approval] = {"git": "ask", "git status": "auto", "git push": "deny"}

    assert find_command_rule("git status", rules) == "auto"
    assert find_command_rule("git push", rules) == "deny"
    assert find_command_rule("git log", rules) == "ask"
    assert find_command_rule("git status; git log", rules) == "ask"
    assert find_command_rule("git status; git log; git push", rules) == "deny"


def test_that_spaces_of_a_rule_do_not_count() -> None:
    assert find_command_rule("git status", {" git  status ": "auto", "": "deny"}) == "auto"
    assert find_command_rule("git status", {" ": "deny"}) is None


def test_which_rules_could_ever_be_found() -> None:
    assert all(map(is_rule, ("git status", " ./run.sh", "timeout 60 make", "env X=1", "é")))
    for text in ("", " ", "git; rm", "echo 'x'", "$X", "git $X", "a*", "a\x1bb", "X=1 a", "a >f"):
        assert not is_rule(text)


@given(st.text(st.sampled_from("ab -.'\"\\$`;|&<>(){}\n=#~*"), max_size=12))
def test_that_a_rule_is_found_for_what_it_says(text: str) -> None:
    if is_rule(text):
        assert find_command_rule(text, {text: "deny"}) == "deny"
        assert find_command_rule(f"{text} more", {text: "deny"}) == "deny"


PLAIN = st.text(st.sampled_from("abc -./:=,*?~$%"), max_size=6)
FIRST = st.sampled_from(["git status", "echo a", "ls", "ls -l 'x y'", 'echo "it\'s"', "ls $HOME"])
JOINS = [";", "\n", "&&", "||", "|", "&", "|&", ";;", "\n\n", ";\t"]
WRAPS = [
    "$({})",
    "`{}`",
    '"$({})"',
    '"`{}`"',
    "<({})",
    ">({})",
    "${{x:-$({})}}",
    "${{x:=`{}`}}",
    "$(( $({}) ))",
    "$[ $({}) ]",
    "'$({})'",
    "a[$({})]",
    "{{a,$({})}}",
    "x=$({})",
]
BEFORE = [
    "",
    "X=1 ",
    "X=$Y Z= ",
    "! ",
    "( ",
    "{ ",
    "if ",
    "while ",
    "until ",
    "then ",
    "do ",
    "sudo ",
    "env ",
    "env X=1 ",
    "nohup ",
    "time ",
    "exec ",
    "command ",
    "builtin ",
    "eval ",
    "xargs ",
    ">/dev/null ",
    "2>&1 ",
    "f() { ",
    "\\\n",
    "  ",
]
SPELLINGS = [HIDDEN, "\\evil", "ev''il", '"evil"', "e\\\nvil", "./evil", "/bin/evil", "ev${x}il"]


@st.composite
def hiding_lines(draw: st.DrawFn) -> str:
    """Lines that run what may run, and somewhere in them something else."""
    first = draw(FIRST)
    evil = draw(st.sampled_from(BEFORE)) + draw(st.sampled_from(SPELLINGS)) + " x"
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 3))):
            evil = draw(st.sampled_from(WRAPS)).format(evil)
        line = f"{first} {draw(PLAIN)}{evil}"
    else:
        line = f"{first}{draw(st.sampled_from(['', ' ']))}{draw(st.sampled_from(JOINS))}{evil}"
    if draw(st.booleans()):
        line += draw(st.sampled_from([";", " &&", " |", "\n"])) + " " + draw(FIRST)
    return line


@given(hiding_lines())
def test_that_no_line_with_a_second_command_is_allowed(line: str) -> None:
    assert find_command_rule(line, ALLOWED) is None


@given(
    hiding_lines(),
    st.dictionaries(
        st.sampled_from(["git", "echo", "evil", "sudo", "env", "ls", "xargs"]),
        st.sampled_from(["deny", "ask", "auto"]),
    ),
    st.sampled_from(["deny", "ask"]),
)
def test_that_more_rules_which_forbid_never_allow_more(
    line: str, rules: dict[str, Approval], approval: Approval
) -> None:
    order = {None: 1, "auto": 0, "ask": 2, "deny": 3}
    before = find_command_rule(line, rules)
    after = find_command_rule(line, {**rules, "evil": approval})

    if rules.get("evil") is None:
        assert order[after] >= order[before]


PIECES = [
    "ls",
    "l",
    "s",
    "evil",
    " ",
    "\n",
    "\\\n",
    ">/dev/null ",
    "2>&1 ",
    *"'\"\\$`(){}<>|&;#=~*",
]
"""What lines are made of, so that a good part of them may run."""
NOTHING = re.compile(r"([\s;&|]|[012]?[<>&|]+ *(/dev/null|[012])(?=\s|$))*")
"""What may stand before a command and is none."""


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_that_what_is_allowed_has_the_allowed_word_first(line: str) -> None:
    if find_command_rule(line, {"ls": "auto"}) == "auto":
        bare = re.sub("['\"]", "", line.replace("\\\n", ""))
        assert re.match(r"ls([\s;&|<>12]|$)", NOTHING.sub("", bare, count=1)), bare
