"""Reads the imports of every module and says which ones climb the stairs.

The rules are those of `docs/explanation/architecture.md`: each floor imports
only what is below it, rooms of one floor do not import each other, the contract
is open to `server`, `app` and `config` alone, and the client is alone.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DAEMON = ROOT / "daemon"
CLIENT = ROOT / "client"

# The lowest first. Rooms in one tuple are siblings.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("processes",),
    ("providers", "store", "tools"),
    ("sessions",),
    ("jobs",),
    ("server",),
    ("settings",),  # shapes alone: SETTINGS_READERS says who may read them
    ("host",),
    ("app", "rescue"),
)
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
OPEN_TO_ALL_BUT_CORE = {"errors", "files"}
CONTRACT_READERS = {"server", "host", "app", "config", "rescue", "workshop"}
SETTINGS_READERS = {
    "check", "host", "app", "config", "settings", "room_settings", "rescue", "workshop",
}  # fmt: skip
CONTRACT = ("ask.protocol", "ask.paths")
CLIENT_NEVER = {"trio", "pydantic", "httpx", "askd", "anyio"}
CLIENT_ONLY_WHERE_USED = {"rich", "prompt_toolkit"}
# Made of those libraries: nobody else imports these modules but inside a function.
CLIENT_HEAVY = {
    "ask.markdown.paint", "ask.markdown.code", "ask.markdown.inline",
    "ask.chat.app", "ask.chat.begin", "ask.chat.keys", "ask.chat.offers", "ask.chat.recall",
    "ask.chat.screen", "ask.chat.stage", "ask.chat.watch",
}  # fmt: skip
FAST_NEVER = {
    "click", "dataclasses", "datetime", "enum", "functools", "json", "msgpack", "re", "socket",
    "typing",
}  # fmt: skip
CORE_MAY = {
    "askd", "bisect", "collections", "dataclasses", "functools", "hashlib", "itertools", "json",
    "math", "types", "typing", "unicodedata", "enum", "string", "operator", "abc", "re",
    "base64", "binascii", "contextlib",
    "datetime",  # to write and to read times; it asks no clock
    "fnmatch",  # `fnmatchcase` alone: the other form asks which system this is
}  # fmt: skip


def read_imports(source: str, package: str = "") -> Iterator[tuple[str, int, bool]]:
    """Yield (module, line, is it at the top level) for each import of a module's source."""
    tree = ast.parse(source)
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            for alias in node.names:
                yield f"{module}.{alias.name}", node.lineno, id(node) in top


def room_of(module: str) -> str:
    """The room of `askd.ROOM...`; for `askd.app` it is `app`."""
    return module.split(".")[1] if module.count(".") else ""


def find_daemon_violations(name: str, source: str) -> list[str]:
    """Say what in the module `name` (dotted, within askd) breaks the floors."""
    room = room_of(name)
    found = []
    for imported, line, _ in read_imports(source):
        where = f"{name}:{line} imports {imported}"
        top = imported.split(".")[0]
        if room == "core" and top not in CORE_MAY:
            found.append(f"{where}: the core is pure")
        if top == "ask":
            if not imported.startswith(CONTRACT):
                found.append(f"{where}: of the client only the contract is open")
            elif room not in CONTRACT_READERS:
                found.append(f"{where}: the contract is open to {sorted(CONTRACT_READERS)}")
        if imported == "os.environ" and room != "config":
            found.append(f"{where}: only config reads the environment")
        if top != "askd" or room in ("", "__main__"):
            continue
        other = room_of(imported)
        if other in ("config", "settings") and room not in SETTINGS_READERS:
            found.append(f"{where}: settings are handed down by app")
        if other in OPEN_TO_ALL_BUT_CORE and room == "core":
            found.append(f"{where}: the core imports the core only")
        if other in LEVEL and room in LEVEL and other != room and LEVEL[other] >= LEVEL[room]:
            found.append(f"{where}: {other} is not below {room}")
    return found


def find_environment_reads(name: str, source: str) -> list[str]:
    """Say where a daemon module other than config touches the environment."""
    if name == "askd.config":
        return []
    return [
        f"{name}:{node.lineno} reads the environment"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in ("environ", "getenv", "environb")
    ]


def find_database_opens(name: str, source: str) -> list[str]:
    """Say where a module other than the writer opens SQLite without `mode=ro`."""
    if name == "askd.store.writer":
        return []
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "connect"
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "sqlite3"
            and "mode=ro" not in ast.unparse(node)
        ):
            found.append(f"{name}:{node.lineno} opens a database that it could write to")
    return found


def find_client_violations(name: str, source: str) -> list[str]:
    """Say what in a client module would make it heavy, or need the daemon."""
    found = []
    for imported, line, at_top in read_imports(source):
        where = f"{name}:{line} imports {imported}"
        top = imported.split(".")[0]
        if top in CLIENT_NEVER:
            found.append(f"{where}: never in the client")
        heavy = top in CLIENT_ONLY_WHERE_USED or imported.rpartition(".")[0] in CLIENT_HEAVY
        if heavy and at_top and name not in CLIENT_HEAVY:
            found.append(f"{where}: only inside the function that uses it")
        if name.startswith("ask.fast") and at_top and top in FAST_NEVER:
            found.append(f"{where}: too slow for the fast path")
        if (
            name.startswith("ask.protocol")
            and top == "ask"
            and not imported.startswith("ask.protocol")
        ):
            found.append(f"{where}: the contract stands alone")
    return found


def modules(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (dotted name, source) of every module under an import root."""
    for path in sorted(root.rglob("*.py")):
        dotted = ".".join(path.relative_to(root).with_suffix("").parts)
        yield dotted.removesuffix(".__init__"), path.read_text(encoding="utf-8")


def find_all() -> list[str]:
    """Every violation in the house."""
    found = []
    for name, source in modules(DAEMON):
        found += find_daemon_violations(name, source)
        found += find_environment_reads(name, source)
        found += find_database_opens(name, source)
    for name, source in modules(CLIENT):
        found += find_client_violations(name, source)
    return found
