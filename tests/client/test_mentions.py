r"""Which `@` means a file: the table of what people write, and what must hold for any text."""

import string
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ask.fast.argv import BEFORE_MENTION, may_mention
from ask.mentions import ENDS_LIMIT, Found, Kind, Mention, find_code, find_mentions, looks_like_path
from ask.references import Reference
from tests.fakes.growth import LINEAR, find_growth

FILES = {
    *("x.py", "src/x.py", "LICENSE", "what?", "a b.md", "docs/日本語.md", "x.py#L3-4.bak"),
    *(
        "./x.py",
        "../up.md",
        "~/notes.txt",
        "/etc/hosts",
        ".env",
        "café.md",
        "cafe\u0301.md",
        "a(1).txt",
        "a @x.py",
    ),
}
DIRECTORIES = {"src", "src/", "src/sub", "docs/", "/etc", "a b/", "..", "."}


def look(path: str) -> Kind | None:
    if path in FILES:
        return "file"
    return "directory" if path in DIRECTORIES else None


def find(text: str) -> Found:
    return find_mentions(text, look)


def names(text: str) -> list[str]:
    found = find(text)
    assert not found.missing
    return [mention.name for mention in found.mentions]


@pytest.mark.parametrize(
    ("text", "name", "left"),
    [
        ("@x.py", "x.py", "x.py"),
        ("why is @src/x.py slow?", "src/x.py", "why is src/x.py slow?"),
        ("read @x.py.", "x.py", "read x.py."),
        ("read @x.py...", "x.py", "read x.py..."),
        ("read @x.py…", "x.py", "read x.py…"),
        ("(@x.py)", "x.py", "(x.py)"),
        ("[@x.py]", "x.py", "[x.py]"),
        ('"@x.py"', "x.py", '"x.py"'),
        ("“@x.py”", "x.py", "“x.py”"),
        ("@x.py, please", "x.py", "x.py, please"),
        ("@x.py: line 3", "x.py", "x.py: line 3"),
        ("@x.py:3", "x.py", "x.py:3"),
        ("@x.py's end", "x.py", "x.py's end"),
        ("is it @x.py?!", "x.py", "is it x.py?!"),
        ("@what? is it", "what?", "what? is it"),
        ("@a(1).txt", "a(1).txt", "a(1).txt"),
        ("@x.py—or not", "x.py", "x.py—or not"),
        ("@LICENSE", "LICENSE", "LICENSE"),
        ("@.env", ".env", ".env"),
        ("@./x.py @ once", "./x.py", "./x.py @ once"),
        ("@../up.md", "../up.md", "../up.md"),
        ("@~/notes.txt", "~/notes.txt", "~/notes.txt"),
        ("@/etc/hosts", "/etc/hosts", "/etc/hosts"),
        ("@src/ and", "src/", "src/ and"),
        ("look in @src/.", "src/", "look in src/."),
        ("@src/sub", "src/sub", "src/sub"),
        ('@"a b.md"', "a b.md", '"a b.md"'),
        ('(@"a b.md", @"a)', "a b.md", '("a b.md", @"a)'),
        ('@"a b/"', "a b/", '"a b/"'),
        ('@".."', "..", '".."'),
        ('@"a @x.py"', "a @x.py", '"a @x.py"'),
        ("@café.md", "café.md", "café.md"),
        ("@cafe\u0301.md", "cafe\u0301.md", "cafe\u0301.md"),
        ("@docs/日本語.md", "docs/日本語.md", "docs/日本語.md"),
        ("解释@src/x.py的代码", "src/x.py", "解释src/x.py的代码"),
        ("说明：@docs/日本語.md。", "docs/日本語.md", "说明：docs/日本語.md。"),
        ("@x.py#L10", "x.py#L10", "x.py#L10"),
        ("@x.py#L10-25", "x.py#L10-25", "x.py#L10-25"),
        ("@x.py#L10-L25", "x.py#L10-25", "x.py#L10-L25"),
        ("(@x.py#L10-25).", "x.py#L10-25", "(x.py#L10-25)."),
        ("@x.py#L7.", "x.py#L7", "x.py#L7."),
        ('@"a b.md"#L2-3, ok', "a b.md#L2-3", '"a b.md"#L2-3, ok'),
        ("@x.py#L3-4.bak", "x.py#L3-4.bak", "x.py#L3-4.bak"),
        ("@x.py#usage", "x.py", "x.py#usage"),
        ("a\n@x.py\nb", "x.py", "a\nx.py\nb"),
    ],
)
def test_a_mention_and_what_is_left(text: str, name: str, left: str) -> None:
    found = find(text)
    assert [mention.name for mention in found.mentions] == [name]
    assert (found.text, found.missing, found.bare) == (left, (), ())


def test_each_is_found_in_its_order() -> None:
    found = find("@x.py,@LICENSE; @x.py#L3 and @x.py")
    assert found.mentions == (
        Mention("x.py"),
        Mention("LICENSE"),
        Mention("x.py", (3, 3)),
        Mention("x.py"),
    )
    assert found.text == "x.py,LICENSE; x.py#L3 and x.py"


@pytest.mark.parametrize(
    "text",
    [
        *("", "@", "a @ b", "@@", "@@ -1,2 +3 @@", "@.", "@..", "@/", "@,", "@)", "(@)"),
        *("me@example.org", "mail me@x.py", "<me@x.py>", "root@host:x.py", "x=@x.py", "a+b@x.py"),
        *("@user", "thanks @user!", "@user@example.org", "@user@example.py", "cc: @a, @b"),
        *("@property", "@app.get", '@app.get("/x.py")', "@router.py(1)", "@pytest.mark.slow"),
        *("@Override", "@media print", "@1.2.3", "pkg@1.2.3"),
        *("@scope/pkg", "npm i @types/node", "@types/node@20.1", "@vue/cli-service, too"),
        *("https://example.org/@x.py", "https://example.org/a,@x.py", "http://u:p@x.py/"),
        *("see https://a.b/(@x.py)", "git@example.org:me/x.py"),
        *("`@x.py`", "``@x.py ` @x.py``", "```\n@x.py\n```", "~~~py\n@x.py", "a `b\n@x.py` c"),
        *("1. so:\n   ```\n   @x.py\n   ```", "> ```\n> @x.py\n> ```", "````\n```\n@x.py\n````"),
        *("`https://a.b c @x.py`", "import x from '@scope/pkg/x.js'", 'from "@/components/x.vue"'),
        *("@/components/Button.vue", 'NSLog(@"hi %d", x)', '@""', '@" "', '@"a\nb"', '@"open'),
        *("\\@ifnextchar", "\\\\@x.py", "a\\@x.py", "src\\@x.py"),
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert find(text) == Found(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@y.py", "y.py"),
        ("(@y.py).", "y.py"),
        ("@README.MD", "README.MD"),
        ("@src/y", "src/y"),
        ("@lib/y.zig", "lib/y.zig"),
        ("@./y", "./y"),
        ("@~/y", "~/y"),
        ("@/etc/y", "/etc/y"),
        ("@drc/", "drc/"),
        ('@"no such"', "no such"),
        ('(@"no such.md")', "no such.md"),
        ("@Makefile#L3", "Makefile#L3"),
        ("@y.py#L10-25.", "y.py#L10-25"),
        ("'see @y.py'", "y.py"),
    ],
)
def test_a_missing_file_is_named(text: str, name: str) -> None:
    assert find(text) == Found(text, missing=(name,))


@pytest.mark.parametrize(
    "behind",
    ["#L2-", "#Lx", "#L", "#L1O-25", "#L-5", "#L1-2-3", "#L10C5", "#L1234567890", "#L3-4.py"],
)
@pytest.mark.parametrize("name", ["x.py", '"a b.md"'])
def test_lines_that_cannot_be_read_are_told(name: str, behind: str) -> None:
    found = find(f"why @{name}{behind}?")
    path = name.strip('"')
    if behind == "#L3-4.py" and name != path:
        assert found.mentions == (Mention(path, (3, 4)),)  # the quotes say where its name ends
        return
    assert found.mentions == (Mention(path),)
    assert found.misread == (path + behind.removesuffix(".py"),)


@pytest.mark.parametrize("text", ["@x.py#License", "@x.py#L3-4.bak", "@x.py#L3, or", "@x.py #L2-"])
def test_a_heading_and_a_file_of_that_name_are_no_lines(text: str) -> None:
    found = find(text)
    assert len(found.mentions) == 1
    assert found.misread == ()


def test_a_directory_needs_its_slash() -> None:
    assert find("what is @src?") == Found("what is @src?", bare=("src",))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"\@x.py", "@x.py"),
        (r"a (\@y.py)", "a (@y.py)"),
        (r"\@src/ @user", "@src/ @user"),
        (r"\@user", r"\@user"),
    ],
)
def test_a_backslash_is_taken_away_where_it_was_needed(text: str, left: str) -> None:
    found = find(text)
    assert (found.text, found.mentions, found.missing) == (left, (), ())


def test_code_ends_where_a_paragraph_ends() -> None:
    assert names("a stray ` here\n\n@x.py and ` there") == ["x.py"]
    assert names("```\ncode\n```\n@x.py `a` @LICENSE") == ["x.py", "LICENSE"]
    assert names("``` not ` a fence\n@x.py") == ["x.py"]


def test_code_is_found_where_it_is() -> None:
    text = "a `b` ``c`d``\n\n```py\ne\n```\nf `g\n\n~~~\nh"
    found = [text[start:end] for start, end in find_code(text)]
    assert found == ["`b`", "``c`d``", "```py\ne\n```", "~~~\nh"]


def test_a_scope_that_is_a_directory_here_is_meant() -> None:
    assert looks_like_path("src/pkg", look)
    assert not looks_like_path("scope/pkg", look)
    assert not looks_like_path("src/x.py@2", look)


def test_a_long_text_is_searched_in_proportion() -> None:
    asked = 0

    def count(path: str) -> None:
        nonlocal asked
        asked += 1

    def write(n: int) -> str:
        return "`" * n + " @" + "a" * 100 * n + " `" * 5 * n + " @a" + ",b" * 50 * n + "://" * 9 * n

    text = write(1000)
    assert find_mentions(text, count).text == text
    assert asked <= 8 * ENDS_LIMIT

    def prepare(n: int) -> Callable[[], object]:
        longer = write(n)
        return lambda: find_mentions(longer, count)

    assert find_growth(prepare, 125) < LINEAR


# ---- whatever the text ---------------------------------------------------------------

marked = st.lists(
    st.one_of(
        st.sampled_from(["@", "@x.py", "\\", "`", "```\n", "\n", " ", "#L3", '"', "://", "src/"]),
        st.sampled_from(["x.py", "@y.py", "@src/", '@"a b.md"', ".", ",", "(", ")", "é", "日"]),
        st.text(max_size=4),
    ),
    max_size=20,
).map("".join)


@given(st.text().map(lambda text: text.replace("@", "")))
def test_a_text_without_an_at_sign_is_never_changed(text: str) -> None:
    assert not may_mention(text)
    assert find(text) == Found(text)


@given(marked)
@example("@x.py\\@x.py")
def test_what_is_taken_out_is_exact(text: str) -> None:
    found = find(text)
    places = set(found.taken)
    assert "".join(c for at, c in enumerate(text) if at not in places) == found.text
    assert {text[at] for at in places} <= {"@", "\\"}
    assert sum(text[at] == "@" for at in places) == len(found.mentions)
    assert all(isinstance(each, Mention) and look(each.path) for each in found.mentions)
    assert all(text[at + 1] == "@" for at in places if text[at] == "\\")


@given(marked)
def test_where_nothing_exists_nothing_is_mentioned(text: str) -> None:
    found = find_mentions(text, lambda path: None)
    assert found.mentions == ()
    assert all(text[at] == "\\" for at in found.taken)


@given(marked)
def test_the_short_way_declines_whatever_could_be_one(text: str) -> None:
    if not may_mention(text):
        assert find(text) == Found(text)


plain = st.text(string.ascii_letters + " .,;:!?()\n", max_size=12)
existing = st.sampled_from(["x.py", "src/x.py", "LICENSE", "src/", "docs/日本語.md", "~/notes.txt"])
before = st.sampled_from([" ", "\n", *BEFORE_MENTION.replace("\\", "")])
after = st.sampled_from([" ", "\n", ", ", ". ", ") ", "? ", ": ", "! ", '" '])


@given(st.lists(st.tuples(plain, before, existing, after)))
def test_every_mention_of_what_exists_is_found(
    pieces: list[tuple[str, str, str, str]],
) -> None:
    text = "".join(f"{words}{sign}@{path}{end}" for words, sign, path, end in pieces)
    found = find(text)
    assert list(found.mentions) == [Mention(path) for _, _, path, _ in pieces]
    assert found.text == text.replace("@", "")


def find_served(text: str) -> Found:
    """Where two servers are configured."""
    return find_mentions(text, look, {"docs", "x"}.__contains__)


def test_what_a_server_offers_is_mentioned_by_the_servers_name() -> None:
    found = find_served("see @docs:demo://a/b.md, @x.py and (@x:file:///y).")
    assert found.mentions == (
        Reference("docs", "demo://a/b.md"),
        Mention("x.py"),
        Reference("x", "file:///y"),
    )
    assert found.text == "see docs:demo://a/b.md, x.py and (x:file:///y)."


@pytest.mark.parametrize(
    "text",
    [
        "@user:host @docs:main @docs: look, @docs @x:1:2",
        "me@docs:demo://a https://e.org/@docs:demo://a",
        "`@docs:demo://a` and\n```\n@docs:demo://a\n```",
        "@other:demo://a is no server",
        "@docs:demo: leads nowhere",
    ],
)
def test_what_names_no_server_or_no_address_stays_text(text: str) -> None:
    assert find_served(text) == Found(text)


@pytest.mark.parametrize("text", ["@user:host", "@x.py:3:1", "me@s: hello", "a: b", "@git:main"])
def test_nobody_is_asked_for_servers_by_what_people_write_every_day(text: str) -> None:
    def serves(name: str) -> bool:
        raise AssertionError(name)

    find_mentions(text, look, serves)


def test_a_backslash_keeps_a_resource_from_being_one() -> None:
    assert find_served(r"\@docs:demo://a").text == "@docs:demo://a"
    assert find(r"\@docs:demo://a").text == r"\@docs:demo://a", "it was none anyway"


def test_a_file_that_is_called_so_can_be_named_by_its_path() -> None:
    paths = {"docs", "./docs:demo:a"}
    found = find_mentions(
        "@./docs:demo:a @docs:demo:a",
        lambda path: "file" if path in paths else None,
        {"docs"}.__contains__,
    )
    assert found.mentions == (Mention("./docs:demo:a"), Reference("docs", "demo:a"))


@given(marked)
def test_where_no_server_is_nothing_changes_by_asking_for_one(text: str) -> None:
    assert find_mentions(text, look, lambda name: False) == find(text)
