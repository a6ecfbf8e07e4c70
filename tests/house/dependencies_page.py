"""Reads `docs/reference/dependencies.md` and says where it differs from what is so.

What is so stands in `pyproject.toml` (names, lower bounds), in the metadata of what is
installed (licences), in the imports (sides), and in `.ci/run` and what the sources look for
on the PATH (programs). Why a thing is used, a person has to say.
"""

import ast
import importlib.metadata as metadata
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tests.house.floors import CLIENT, DAEMON
from tests.house.pages import REFERENCE, ROOT

PATH = REFERENCE / "dependencies.md"
PROJECT = ROOT / "pyproject.toml"
CHECK = ROOT / ".ci" / "run"

BUILD, BASE, PROGRAMS = "Build", "Base", "Programs"
OWN = "askd"
"""An extra may name others of this distribution: that is no dependency."""
SHARED = ("paths.py", "protocol/")
"""What of the client's files the daemon uses, too."""
MAY_BE_MISSING = (BUILD, "Extra `local`")
"""A build has its own environment, and the engine has no wheel for every machine."""
SIDES = {"client": CLIENT / "ask", "daemon": DAEMON / "askd", "tests": ROOT / "tests"}

NEED = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?>=(?P<bound>[\w.]+)(?:;.*)?")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)` \|(.*)\|$", re.MULTILINE)
LOOKED_FOR = re.compile(r"""which\(\s*["']([\w.-]+)["']""")
CHECKED_FOR = re.compile(r"command -v ([\w.-]+)")


@dataclass(frozen=True, slots=True)
class Package:
    """A row of the page: `bound` without its `>=`, and the reasons, which must not be empty."""

    bound: str
    licence: str
    side: str
    reasons: tuple[str, ...]


def read_page(text: str) -> dict[str, dict[str, Package]]:
    """The packages of each section."""
    found: dict[str, dict[str, Package]] = {}
    for name, body in _read_sections(text):
        if name != PROGRAMS:
            found[name] = {}
            for package, cells in _read_rows(body):
                bound, licence, side, *reasons = cells
                found[name][package] = Package(bound, licence, side, tuple(reasons))
    return found


def read_programs(text: str) -> dict[str, Sequence[str]]:
    """The programs of the page, with the sides that start them."""
    (body,) = (body for name, body in _read_sections(text) if name == PROGRAMS)
    return {name: _split_sides(cells[2]) for name, cells in _read_rows(body)}


def read_project(text: str) -> dict[str, dict[str, str]]:
    """The lower bound of each package, by the page's sections. Raises ValueError for odd ones."""
    project = tomllib.loads(text)
    extras = project["project"].get("optional-dependencies", {})
    groups = {
        BUILD: project["build-system"]["requires"],
        BASE: project["project"]["dependencies"],
        **{f"Extra `{name}`": needs for name, needs in extras.items()},
    }
    found = {section: dict(_read_needs(needs)) for section, needs in groups.items()}
    return {section: needs for section, needs in found.items() if needs}


def read_licence(name: str) -> str | None:
    """What a package's metadata says of its licence; None: it is not installed."""
    try:
        said = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    for field in ("License-Expression", "License"):
        for value in said.get_all(field) or ():
            if value and "\n" not in value:  # some have the whole text there
                return str(value)
    kinds = [each for each in said.get_all("Classifier") or () if each.startswith("License ::")]
    return " AND ".join(each.rpartition(" :: ")[2] for each in kinds)


def find_side(name: str) -> str:
    """Who imports a package: `client`, `daemon` or `both`."""
    module = name.replace("-", "_").removesuffix("_py")
    sides = {side for side, imported in _read_imports() if module in imported}
    return "both" if len(sides) == 2 else "".join(sides)


def find_differences(
    page: Mapping[str, Mapping[str, Package]],
    project: Mapping[str, Mapping[str, str]],
    licence_of: Callable[[str], str | None],
) -> list[str]:
    """Say where the page's packages are not the project's, or not as their metadata says."""
    found = []
    for section in page.keys() | project.keys():
        told, needed = page.get(section, {}), project.get(section, {})
        found += [f"{section}: {name} is not needed" for name in told.keys() - needed.keys()]
        found += [f"{section}: {name} is not told" for name in needed.keys() - told.keys()]
        for name in told.keys() & needed.keys():
            row, licence = told[name], licence_of(name)
            if row.bound != needed[name]:
                found.append(f"{section}: {name} is needed from {needed[name]}, not {row.bound}")
            if licence is None and section not in MAY_BE_MISSING:
                found.append(f"{section}: {name} is not installed")
            elif licence is not None and licence != row.licence:
                found.append(f"{section}: {name} says {licence!r}, not {row.licence!r}")
            if not (row.licence and all(row.reasons)):
                found.append(f"{section}: {name} lacks a licence or a reason")
    return sorted(found)


def find_program_differences(
    told: Mapping[str, Sequence[str]], wanted: Iterable[str], sources: Mapping[str, str]
) -> list[str]:
    """Say which programs are looked for and not told, or told of a side that does not name them.

    `sources` has all the text of each side.
    """
    found = [f"{name} is not told" for name in set(wanted) - told.keys()]
    for name, sides in told.items():
        word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
        found += [f"{name} is not in {side}" for side in sides if not word.search(sources[side])]
        if not sides:
            found.append(f"{name} has no side")
    return sorted(found)


def find_wanted_programs(sources: Iterable[str]) -> set[str]:
    """What is looked for on the PATH by its name."""
    found: set[str] = set()
    for text in sources:
        found |= set(LOOKED_FOR.findall(text)) | set(CHECKED_FOR.findall(text))
    return found


def read_sources() -> dict[str, str]:
    """All the text of each side; the whole check belongs to the tests, and this page does not."""
    found = {}
    for side, top in SIDES.items():
        files = sorted(top.rglob("*.py"))
        files = [each for each in files if "dependencies_page" not in each.name]
        found[side] = "\n".join(each.read_text(encoding="utf-8") for each in files)
    found["tests"] += CHECK.read_text(encoding="utf-8")
    return found


def _read_sections(text: str) -> Iterator[tuple[str, str]]:
    _, *pieces = HEADING.split(text)
    return zip(pieces[::2], pieces[1::2], strict=True)


def _read_rows(body: str) -> Iterator[tuple[str, list[str]]]:
    for name, rest in ROW.findall(body):
        yield name, [cell.strip() for cell in rest.split("|")]


def _read_needs(needs: Iterable[str]) -> Iterator[tuple[str, str]]:
    for need in needs:
        if need.startswith(f"{OWN}["):
            continue
        match = NEED.fullmatch(need)
        if match is None:
            raise ValueError(f"no name with one lower bound: {need}")
        yield match["name"], match["bound"]


def _split_sides(cell: str) -> Sequence[str]:
    return cell.replace("both", "client, daemon").split(", ") if cell else ()


@cache
def _read_imports() -> tuple[tuple[str, frozenset[str]], ...]:
    """What each file of ours imports, with the side that loads it; what is shared, twice."""
    found = []
    for side in ("client", "daemon"):
        for path in sorted(SIDES[side].rglob("*.py")):
            imported = frozenset(_find_imports(path.read_text(encoding="utf-8")))
            found.append((side, imported))
            if side == "client" and path.relative_to(SIDES[side]).as_posix().startswith(SHARED):
                found.append(("daemon", imported))
    return tuple(found)


def _find_imports(source: str) -> set[str]:
    """The packages that a file imports, also by name with `importlib`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                found |= {each.name.partition(".")[0] for each in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module.partition(".")[0])
            case ast.Call(
                func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]
            ):
                found.add(name.partition(".")[0])
            case _:
                pass
    return found
