"""Compares the modules with their tests: each has its own file, by the same name.

A room of the daemon is tested in the folder of that name, its modules without a
room beside the folders, the client below `tests/client`. It looks at names
only; coverage says what the tests run.
"""

from pathlib import Path

from tests.house.floors import CLIENT, DAEMON, ROOT

TESTS = ROOT / "tests"

# Folders of tests that mirror nothing: they run processes, or the house, or help others.
FREE_FOLDERS = {"system", "house", "faults", "integrity", "bench", "fakes", "data"}

UNTESTED_BY_NAME: dict[str, str] = {
    "askd/core/items.py": "values without behaviour; every test of the core builds them",
    "askd/core/steps.py": "values without behaviour; tests/core/test_turn.py feeds and reads them",
    "askd/core/outcome.py": "numbers; tests/house/test_codes.py holds them to the contract",
    "askd/providers/base.py": "values and protocols; every codec's test uses them",
    "askd/store/log.py": "values and a protocol; the tests of both logs use them",
    "askd/jobs/base.py": "values; tests/jobs/test_attempt.py has a try come to each of them",
    "askd/processes/syscalls.py": "tables; tests/processes/test_seccomp.py judges by them",
    "askd/tools/base.py": "a value and a protocol; the registry's test uses them",
    "askd/tools/mcp/base.py": "values and a protocol; the fake and the real servers keep it",
    "askd/sessions/needs.py": "protocols; the fakes of sessions keep them",
    "askd/server/house.py": "values and protocols; every handler's test builds one",
    "askd/errors.py": "classes without behaviour",
    "ask/exits.py": "codes and one exception; every command's test sees both",
    "ask/protocol/limits.py": "numbers; the tests of frames and of the pages use them",
    "ask/protocol/names.py": "tables without behaviour",
    "ask/protocol/errors.py": "tables; tests/house/test_codes.py and the page of exit codes",
}
"""Modules without a test file of their own, each with why."""

UNMIRRORED_TESTS: dict[str, str] = {
    "providers/test_overflow_table.py": "overflow.py and refusals.py, row by row",
    "store/test_crash.py": "the whole room, killed at any moment",
    "store/recovery/test_killed.py": "rebuild.py and restore.py, killed at any step",
    "store/test_disk_faults.py": "the whole room on a disk that fails",
    "jobs/test_schedule_model.py": "schedule.py on its store, against a model of every mishap",
    "sessions/test_with_store.py": "sessions and jobs on the real log",
    "sessions/test_server_tools.py": "turns whose tools come and go, through all of the room",
    "providers/codecs/test_official_anthropic.py": "the vendor's package beside the whole codec",
    "providers/codecs/test_official_ollama.py": "the vendor's package beside the whole codec",
    "providers/codecs/test_official_openai.py": "the vendor's package beside both codecs",
    "client/test_connection_dying.py": "connection.py, where a daemon dies at its greeting",
    "client/test_processes.py": "ask as a whole, in processes: ask/__main__.py and all behind it",
    "client/fast/test_guards.py": "what the whole fast path loads and calls",
}
"""Test files that stand for no single module, each with why."""


def expected_test(module: str) -> str:
    """Where the tests of a module stand, both as paths below their roots."""
    package, *folders, name = module.split("/")
    if package == "ask":
        folders = ["client", *folders]
    return "/".join([*folders, f"test_{name}"])


def find_modules() -> list[str]:
    """Every module that owes a test, as `askd/store/writer.py`."""
    found = [
        path.relative_to(root).as_posix()
        for root in (DAEMON, CLIENT)
        for path in sorted(root.rglob("*.py"))
        if path.name not in ("__init__.py", "__main__.py")
    ]
    return [name for name in found if name not in UNTESTED_BY_NAME]


def find_tests() -> list[str]:
    """Every test file that owes a module, as `store/test_writer.py`."""
    found = [path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py"))]
    return [
        path.as_posix()
        for path in found
        if path.parts[0] not in FREE_FOLDERS and path.as_posix() not in UNMIRRORED_TESTS
    ]


def find_untested(modules: list[str], tests: list[str]) -> list[str]:
    """Say which modules have no test of their name."""
    return [
        f"{m} has no tests/{expected_test(m)}" for m in modules if expected_test(m) not in tests
    ]


def find_unmirrored(modules: list[str], tests: list[str]) -> list[str]:
    """Say which tests have no module of their name."""
    expected = {expected_test(module) for module in modules}
    return [f"tests/{test} has no module" for test in tests if test not in expected]


def find_stale() -> list[str]:
    """Say which of the exceptions above name a file that is not there."""
    roots: dict[str, Path] = {"askd": DAEMON, "ask": CLIENT}
    gone = [name for name in UNTESTED_BY_NAME if not (roots[name.split("/")[0]] / name).exists()]
    return gone + [name for name in UNMIRRORED_TESTS if not (TESTS / name).exists()]
