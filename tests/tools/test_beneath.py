"""What lies beneath is opened, by the kernel or part by part; nothing else is."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askd.tools import beneath
from askd.tools.beneath import has_openat2, open_beneath


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "walk":
        monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_text("deep")
    (top / "file").write_text("flat")
    (top / "in").symlink_to("a/b")
    (top / "out").symlink_to("..")
    (top / "all").symlink_to("/")
    (tmp_path / "file").write_text("outside")
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def read(root: int, path: str, *, links: bool = True) -> str:
    descriptor = open_beneath(root, path, os.O_RDONLY, links=links)
    try:
        assert not os.get_inheritable(descriptor)
        return os.read(descriptor, 100).decode()
    finally:
        os.close(descriptor)


def find_error(root: int, path: str, flags: int = os.O_PATH, *, links: bool = True) -> str:
    with pytest.raises(OSError, match=r".") as caught:
        os.close(open_beneath(root, path, flags, links=links))
    return errno.errorcode[caught.value.errno or 0]


@pytest.mark.parametrize("path", ["a/b/file", "./a//b/./file"])
def test_what_is_beneath_is_opened(path: str, root: int, way: str) -> None:
    assert read(root, path) == "deep"


@pytest.mark.parametrize("path", [".", "./", "a", "a/", "a/b/."])
def test_directories_are_opened(path: str, root: int, way: str) -> None:
    descriptor = open_beneath(root, path, os.O_RDONLY | os.O_DIRECTORY)
    os.close(descriptor)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("..", "EXDEV"),
        ("../file", "EXDEV"),
        ("/etc/passwd", "EXDEV"),
        ("a/../../file", "EXDEV"),
        ("none", "ENOENT"),
        ("a/none/b", "ENOENT"),
        ("", "ENOENT"),
        ("file/x", "ENOTDIR"),
        ("file/", "ENOTDIR"),
        ("file\0", "EINVAL"),
        ("x" * 256, "ENAMETOOLONG"),
        ("x/" * 2048, "ENAMETOOLONG"),
    ],
)
def test_what_is_not_there_or_leads_out_is_said(path: str, error: str, root: int, way: str) -> None:
    assert find_error(root, path) == error


def test_links_that_stay_are_followed_by_the_kernel_alone(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert has_openat2()
    assert read(root, "in/file") == "deep"
    assert read(root, "in/../b/file") == "deep"
    assert find_error(root, "in/file", links=False) == "ELOOP"
    assert find_error(root, "out/file") == "EXDEV"
    assert find_error(root, "all/etc/passwd") == "EXDEV"
    monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    for path in ("in/file", "out/file", "all/etc/passwd", "in", "out"):
        assert find_error(root, path) == "ELOOP", path
        assert find_error(root, path, os.O_RDONLY) == "ELOOP", path
    # Up again is no way here, not even where it would end inside.
    assert find_error(root, "a/../file") == "EXDEV"


def test_links_of_proc_are_not_followed(way: str) -> None:
    top = os.open("/", os.O_PATH)
    try:
        assert find_error(top, "proc/self/root/etc/passwd") == "ELOOP"
        assert find_error(top, "proc/self/cwd") == "ELOOP"
        assert find_error(top, f"proc/{os.getpid()}/fd/{top}") == "ELOOP"
    finally:
        os.close(top)


def test_a_kernel_without_it_is_noticed(monkeypatch: pytest.MonkeyPatch, root: int) -> None:
    # A number that no kernel has: what Linux before 5.6 says, and what filters make it say.
    monkeypatch.setattr(beneath, "SYS_OPENAT2", 100_000)
    has_openat2.cache_clear()
    try:
        assert not has_openat2()
        assert read(root, "a/b/file") == "deep"
        assert find_error(root, "in/file") == "ELOOP"
    finally:
        has_openat2.cache_clear()


def test_being_told_to_try_again_ends(monkeypatch: pytest.MonkeyPatch, root: int) -> None:
    tries = 0

    def never(*arguments: object, **more: object) -> int:
        nonlocal tries
        tries += 1
        raise BlockingIOError(errno.EAGAIN, "renamed")

    assert has_openat2()
    monkeypatch.setattr(beneath, "_openat2", never)
    assert find_error(root, "file") == "EAGAIN"
    assert tries == beneath.TRIES


NAMES = st.sampled_from(["a", "b", "in", "out", "all", "file", "..", ".", "", "none"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(parts=st.lists(NAMES, max_size=8), absolute=st.booleans())
def test_no_path_opens_what_is_not_beneath(parts: list[str], absolute: bool, root: int) -> None:
    path = "/" * absolute + "/".join(parts)
    top = os.readlink(f"/proc/self/fd/{root}")
    reached = {}
    for way in (beneath._open_by_kernel, lambda r, n, f, links: beneath._walk(r, n, f)):
        try:
            descriptor = way(root, path.encode() or b".", os.O_PATH | os.O_CLOEXEC, True)
        except OSError:
            continue
        found = os.readlink(f"/proc/self/fd/{descriptor}")
        os.close(descriptor)
        assert found == top or found.startswith(f"{top}/")
        reached[way] = found
    assert len(set(reached.values())) <= 1, "both ways must mean the same"
