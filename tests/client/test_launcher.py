"""The launcher script as text, as a file, and as a program that a kernel starts."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ask import __version__
from ask.exits import FAILED, STORAGE, Failed
from ask.launcher import MARK, find_places, is_ours, render_launcher, write_launcher

PROBE = """\
def main():
    import sys
    print("site" in sys.modules, sys.flags.isolated, sys.argv[1:])
"""
"""What stands where `ask` is looked for, and tells how it was started."""


def place_probe(directory: Path, text: str = PROBE) -> str:
    package = directory / "ask"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(text)
    return str(directory)


def test_it_starts_this_installation_without_a_search(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "bin" / "ask"
    assert write_launcher(path, render_launcher(sys.executable, find_places())) == (
        f"ask {__version__}"
    )
    probe = render_launcher(sys.executable, [place_probe(tmp_path / "lib")])
    assert write_launcher(path, probe) == "False 1 ['--version']"
    said = subprocess.run([path, "two words", "é"], capture_output=True, check=True, text=True)
    assert said.stdout == "False 1 ['two words', 'é']\n"
    assert os.listdir(path.parent) == ["ask"]


def test_the_places_are_what_a_python_without_site_does_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    places = find_places()
    assert str(tmp_path) not in places
    known = subprocess.run(
        [sys.executable, "-IS", "-c", "import sys; print(*sys.path, sep='\\n')"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.splitlines()
    assert not set(places) & set(known)
    assert len(set(places)) == len(places)
    homes = [each for each in places if (Path(each) / "ask" / "launcher.py").is_file()]
    assert homes, places


@pytest.mark.parametrize(
    ("python", "fits"),
    [
        ("", False),
        ("/a b/python", False),
        ("/a\tb/python", False),
        ("/" + "x" * 248, True),
        ("/" + "x" * 249, False),
        ("/" + "é" * 200, False),
    ],
)
def test_a_python_that_no_script_can_name_is_refused(python: str, *, fits: bool) -> None:
    if fits:
        assert len(render_launcher(python, []).partition("\n")[0]) == 255
        return
    with pytest.raises(Failed) as refused:
        render_launcher(python, [])
    assert refused.value.code == FAILED


def test_places_of_any_name_are_written_so_that_python_reads_them(tmp_path: Path) -> None:
    place = place_probe(tmp_path / 'it\'s "a"\nplace é\\')
    assert write_launcher(tmp_path / "ask", render_launcher(sys.executable, [place]))


def test_what_was_there_stays_if_the_new_one_does_not_work(tmp_path: Path) -> None:
    path = tmp_path / "ask"
    path.write_text("as it was")
    place = place_probe(tmp_path / "lib", "raise RuntimeError('no')\n")
    for text in (
        render_launcher(sys.executable, [place]),
        render_launcher(str(tmp_path / "gone"), []),
    ):
        with pytest.raises(Failed) as refused:
            write_launcher(path, text)
        assert refused.value.code == FAILED
        assert path.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["ask", "lib"]


def test_an_interpreter_whose_name_is_no_text_is_an_error_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"p\xff")).symlink_to(sys.executable)
    text = render_launcher(str(tmp_path / os.fsdecode(b"p\xff")), find_places())
    with pytest.raises(Failed):
        write_launcher(tmp_path / "ask", text)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failed) as refused:
        write_launcher(tmp_path / "file" / "ask", render_launcher(sys.executable, []))
    assert refused.value.code == STORAGE


def test_an_installation_that_is_gone_is_told_in_a_sentence(tmp_path: Path) -> None:
    place = place_probe(tmp_path / "lib")
    path = tmp_path / "ask"
    write_launcher(path, render_launcher(sys.executable, [place]))
    (tmp_path / "lib" / "ask" / "__main__.py").unlink()
    (tmp_path / "lib" / "ask" / "__init__.py").unlink()
    (tmp_path / "lib").rename(tmp_path / "moved")
    said = subprocess.run([path], capture_output=True, check=False, text=True)
    assert said.returncode == 1
    assert said.stderr == (
        "ask is not where it was (No module named 'ask'). Install it, then have its "
        f"install-launcher write {str(path)!r} anew, or remove that.\n"
    )


def test_another_python_in_its_place_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ask"
    place = place_probe(tmp_path / "lib")
    path.write_text(render_launcher(sys.executable, [place], version=(3, 10)))
    path.chmod(0o755)
    said = subprocess.run([path], capture_output=True, check=False, text=True)
    assert said.returncode == 1
    assert said.stderr.startswith("ask is not where it was (another Python is there now). Install")


def test_what_is_installed_may_say_something_at_each_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loud = tmp_path / "python"
    loud.write_text(f'#!/bin/sh\necho hello\nexec {sys.executable} "$@"\n')
    loud.chmod(0o755)
    quiet = find_places()
    monkeypatch.setattr(sys, "executable", str(loud))
    assert find_places() == quiet


def test_files_beside_it_are_not_touched_and_links_not_followed(tmp_path: Path) -> None:
    text = render_launcher(sys.executable, [place_probe(tmp_path / "lib")])
    path = tmp_path / "bin" / "ask"
    path.parent.mkdir()
    other = path.with_name(".ask.new")
    other.write_text("precious")
    path.symlink_to(other)
    write_launcher(path, text)
    assert other.read_text() == "precious"
    assert not path.is_symlink()
    assert os.stat(path).st_mode & 0o777 == 0o755


def test_two_at_once_both_succeed(tmp_path: Path) -> None:
    text = render_launcher(sys.executable, [place_probe(tmp_path / "lib")])
    path = tmp_path / "bin" / "ask"
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda _: write_launcher(path, text), range(8)))
    assert len(set(said)) == 1
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["ask"]


def test_ours_are_what_we_wrote_and_links_to_the_script_beside_us(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.write_text(render_launcher("/elsewhere/python", []))
    link = tmp_path / "link"
    link.symlink_to(Path(sys.executable).with_name("ask"))
    second = tmp_path / "second"
    second.symlink_to(ours)
    assert all(map(is_ours, (ours, link, second)))
    other = tmp_path / "other"
    other.write_text(f"#!/bin/sh\necho\n{MARK}\n")
    stray = tmp_path / "stray"
    stray.symlink_to(other)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    script = Path(sys.executable).with_name("ask")  # no link: it is pip's, and stays
    assert not any(map(is_ours, (other, stray, dangling, pipe, loop, script, tmp_path)))
