"""Reads every module of the daemon for what must not be there.

What is absent is harder to see than what is present: waiting in the core, a
second way to a provider, a child that nobody watches over.
"""

import ast
from collections.abc import Iterator

PROCESS_ROOM = "askd.processes"
STARTERS = {
    "fork", "forkpty", "popen", "posix_spawn", "posix_spawnp", "spawnl", "spawnv", "spawnve",
    "system", "execv", "execve", "execvp", "execvpe", "startfile",
}  # fmt: skip
TRIO_STARTERS = {"open_process", "run_process"}

HTTP = "httpx"
MAY_KNOW_HTTP = {
    "askd.providers.http.ways",
    "askd.providers.http.transport",  # this and the next three use what is opened there
    "askd.providers.http.request",
    "askd.providers.http.answer",
    "askd.providers.http.bodies",
    "askd.providers.http.trouble",  # puts its errors in words
}
HTTP_OPENERS = {
    "AsyncClient",
    "AsyncHTTPTransport",
    "Client",
    "HTTPTransport",
    "get",
    "post",
    "put",
    "request",
    "stream",
}
OPENS_HTTP = "askd.providers.http.ways"


def find_waiting_core(name: str, source: str) -> list[str]:
    """Say where the core waits."""
    if not name.startswith("askd.core"):
        return []
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return [
        f"{name}:{node.lineno} waits"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, waits)
    ]


def find_child_starts(name: str, source: str) -> list[str]:
    """Say where a child is started outside the room for it."""
    if name.startswith(PROCESS_ROOM):
        return []
    tree = ast.parse(source)
    found = [f"{name}:{line} imports {module}" for module, line in _imports(tree, "subprocess")]
    found += [
        f"{name}:{line} imports {module}" for module, line in _imports(tree, "multiprocessing")
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_os = node.value.id == "os" and node.attr in STARTERS
            is_trio = node.value.id == "trio" and node.attr in TRIO_STARTERS
            if is_os or is_trio:
                found.append(f"{name}:{node.lineno} uses {node.value.id}.{node.attr}")
        elif isinstance(node, ast.Attribute) and node.attr in TRIO_STARTERS:
            found.append(f"{name}:{node.lineno} uses {node.attr}")
    return found


def find_http(name: str, source: str) -> list[str]:
    """Say where a provider could be reached past the transport."""
    tree = ast.parse(source)
    found = []
    if name not in MAY_KNOW_HTTP:
        found += [f"{name}:{line} imports {module}" for module, line in _imports(tree, HTTP)]
    if name != OPENS_HTTP:
        found += [
            f"{name}:{node.lineno} uses httpx.{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == HTTP
            and node.attr in HTTP_OPENERS
        ]
    return found


def _imports(tree: ast.AST, package: str) -> Iterator[tuple[str, int]]:
    """Yield (module, line) of each import of a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for module in names:
            if module.split(".")[0] == package:
                yield module, node.lineno
