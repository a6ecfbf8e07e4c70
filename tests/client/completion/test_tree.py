"""The table of words as a tree: what its lines say, and that of this version."""

from ask.completion.tree import load_text, load_tree, read_tree

TABLE = """\
[ask]\tAsk
-s --session\tconversation\tA conversation
-f --file\tfile*\tA text file
--json\tflag\tPrint JSON
=*\tmention
[ask history]\tHistory
[ask history show]\tShow it
=\tconversation
=*\ttext
"""


def test_a_table_is_a_tree() -> None:
    tree = read_tree(TABLE)
    assert list(tree) == ["ask", "ask history", "ask history show"]
    assert tree["ask"].children == {"history": "History"}
    assert tree["ask history"].children == {"show": "Show it"}
    session, file, as_json = tree["ask"].options
    assert (session.names, session.kind, session.repeats) == (
        ["-s", "--session"],
        "conversation",
        False,
    )
    assert (file.kind, file.repeats, file.about) == ("file", True, "A text file")
    assert as_json.kind == "flag"
    assert tree["ask"].rest == "mention"
    show = tree["ask history show"]
    assert (show.arguments, show.rest) == (["conversation"], "text")
    assert tree["ask"].find_option("--file") is file
    assert tree["ask"].find_option("--nope") is None


def test_the_tables_of_this_version_and_the_scripts_lie_beside_it() -> None:
    tree = load_tree()
    assert "show" in tree["ask history"].children
    assert load_text("ask.bash").startswith("#")
