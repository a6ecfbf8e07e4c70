"""The files in which other programs keep their servers of tools, and what is in them.

Claude Code, Claude Desktop and Codex are looked for where each documents its file; any other
file is read by what it holds. Nothing is written, and nothing in a file is carried out.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SIZE_LIMIT_BYTES = 64 * 1024 * 1024
"""Claude's file holds its history, too, and grows; more than this is something else."""
PROJECT_FILE = ".mcp.json"
EDITORS = frozenset({".vscode", ".cursor", ".claude", ".codex", ".roo", ".gemini"})
"""Directories in which a project, or a home, keeps what a program of that name reads."""

_COMMENT_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


class Unreadable(Exception):
    """A file that cannot be read, or is not what it should be; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The servers of one place in one file.

    Attributes:
        source: the file, and the project in it, for people.
        servers: by name, as they stand there.
        root: the directory of the project that they are for; None: they are for all.
        is_shared: the file comes with a project.
        expands: its program fills in `${NAME}`.
    """

    source: str
    servers: Mapping[str, Any] = field(repr=False)
    root: str | None = None
    is_shared: bool = False
    expands: bool = True


def find_files(environ: Mapping[str, str], home: Path) -> dict[str, Path]:
    """Where each known program keeps its file, there or not."""
    claude = environ.get("CLAUDE_CONFIG_DIR")
    codex = environ.get("CODEX_HOME")
    config = environ.get("XDG_CONFIG_HOME")
    return {
        "claude": (Path(claude) if claude else home) / ".claude.json",
        "claude-desktop": (Path(config) if config else home / ".config")
        / "Claude"
        / "claude_desktop_config.json",
        "codex": (Path(codex) if codex else home / ".codex") / "config.toml",
    }


def read_listings(path: Path, *, home: Path, is_own: bool = False) -> list[Listing]:
    """All servers of a file, by what it holds, those of no project first.

    `is_own`: it is the caller's, wherever it lies.

    Raises:
        Unreadable: it is not there, no JSON or TOML, or holds what no such file holds.
    """
    document = _read_document(path)
    root = None if is_own else _find_root(path, home)
    is_toml = path.suffix == ".toml"
    listings = [
        Listing(
            source=str(path),
            servers=servers,
            root=root,
            is_shared=root is not None,
            expands=not is_toml,
        )
        for servers in _find_servers(document, path)
    ]
    projects = document.get("projects")
    if isinstance(projects, Mapping):
        for project, kept in projects.items():
            if isinstance(kept, Mapping) and kept.get("mcpServers"):
                source = f"{path} (project {project})"
                servers = _check_servers(kept["mcpServers"], path)
                listings.append(Listing(source=source, servers=servers, root=str(project)))
    return listings


def _find_servers(document: Mapping[str, Any], path: Path) -> Iterator[Mapping[str, Any]]:
    """What Claude and Cursor call `mcpServers`, Codex `mcp_servers`, and VS Code `servers`."""
    for key in ("mcpServers", "mcp_servers", "servers"):
        if document.get(key) is not None:
            yield _check_servers(document[key], path)
    settings = document.get("mcp")
    if isinstance(settings, Mapping) and settings.get("servers") is not None:
        yield _check_servers(settings["servers"], path)  # VS Code's own settings


def _check_servers(servers: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(servers, Mapping):
        raise Unreadable(f"{path}: what should be its servers is no object.")
    return servers


def _find_root(path: Path, home: Path) -> str | None:
    """The directory of the project that a file comes with; None: it is the caller's own."""
    folder = path.parent
    if folder.name in EDITORS and folder.parent != home:
        return str(folder.parent)
    return str(folder) if path.name == PROJECT_FILE and folder != home else None


def _read_document(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > SIZE_LIMIT_BYTES:
            raise Unreadable(f"{path} is too large to be a file of settings.")
        if not path.is_file():
            raise Unreadable(f"{path} is no file.")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is no text.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Unreadable(f"{path} cannot be read: {why}.") from None
    try:
        found = tomllib.loads(text) if path.suffix == ".toml" else parse_json(text)
    except (ValueError, RecursionError) as error:
        # A parser's words may quote what it stumbled over; its place is enough.
        line = getattr(error, "lineno", None)
        place = f", line {line}" if line else ""
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise Unreadable(f"{path}{place}: is no {kind}.") from None
    if not isinstance(found, Mapping):
        raise Unreadable(f"{path} holds no object.")
    return found


def parse_json(text: str) -> Any:
    """JSON as editors write it: with comments, and a comma after the last of a list.

    Raises:
        ValueError: it is none.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        bare = _COMMENT_OR_TEXT.sub(_blank_comment, text)
        bare = _LAST_COMMA.sub(lambda match: match[0] if match[0] != "," else " ", bare)
        if bare == text:
            raise error
        return json.loads(bare)


def _blank_comment(match: re.Match[str]) -> str:
    """A text as it is; of a comment its lines, so that places in errors stay right."""
    found = match[0]
    return found if found.startswith('"') else "\n" * found.count("\n") + " "
