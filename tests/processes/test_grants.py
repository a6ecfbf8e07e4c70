"""What is granted so that a confinement holds: around what is kept, and never above it."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from askd.processes.grants import go_around, is_beneath, plan_grants
from askd.processes.landlock import READ, READ_DIR, READ_FILE, WRITE, WRITE_FILE


def test_nothing_kept_is_one_place(tmp_path: Path) -> None:
    assert list(go_around(str(tmp_path), [])) == [str(tmp_path)]
    assert list(go_around(str(tmp_path), ["/elsewhere"])) == [str(tmp_path)]


def test_what_is_kept_is_gone_around(tmp_path: Path) -> None:
    for each in ("a/.git", "a/src", "b"):
        (tmp_path / each).mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("a/.git")
    found = list(go_around(str(tmp_path), [str(tmp_path / "a/.git")]))
    assert found == [str(tmp_path / each) for each in ("a/src", "b", "file")]


def test_nothing_is_left_of_what_is_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert list(go_around(str(tmp_path / "a"), [str(tmp_path)])) == []
    assert list(go_around(str(tmp_path), [str(tmp_path)])) == []


def test_a_directory_that_is_not_there_gives_nothing() -> None:
    assert list(go_around("/nowhere/at/all", ["/nowhere/at/all/x"])) == []


def test_rights() -> None:
    grants = plan_grants(writable=["/usr/share"], hidden=["/usr/lib"])
    assert ("/", READ_DIR) in grants
    assert ("/usr/share", WRITE) in grants
    assert ("/usr/share", READ) in grants
    assert not any(is_beneath(path, "/usr/lib") for path, _ in grants)
    # Above what is hidden nothing may be read but names, and nothing be written.
    for path, rights in grants:
        if is_beneath("/usr/lib", path):
            assert rights == READ_DIR
        if rights & (WRITE_FILE | WRITE & ~READ_FILE) and not path.startswith("/dev/"):
            assert is_beneath(path, "/usr/share")


@given(st.lists(st.sampled_from(["a", "ab", "b"]), max_size=3), st.sampled_from(["a", "ab", "b"]))
def test_beneath_is_by_whole_names(parts: list[str], name: str) -> None:
    path = "/" + "/".join(parts)
    assert is_beneath(path, path)
    assert is_beneath(f"{path.rstrip('/')}/{name}", path)
    assert not is_beneath(f"{path.rstrip('/')}/{name}", f"{path.rstrip('/')}/{name}x")
    assert is_beneath(path, "/")


def test_nothing_is_beneath_its_neighbour_or_what_it_holds() -> None:
    assert is_beneath("/a/b", "/a")
    assert is_beneath("/a", "/a")
    assert is_beneath("/a", "/")
    assert not is_beneath("/ab", "/a")
    assert not is_beneath("/", "/a")
