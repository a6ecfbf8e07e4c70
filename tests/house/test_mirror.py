"""Each module has its test file and each test file its module."""

import pytest

from tests.house import mirror


def test_every_module_has_its_test() -> None:
    found = mirror.find_untested(mirror.find_modules(), mirror.find_tests())
    assert not found, "\n".join(found)


def test_every_test_has_its_module() -> None:
    everything = mirror.find_modules() + list(mirror.UNTESTED_BY_NAME)
    found = mirror.find_unmirrored(everything, mirror.find_tests())
    assert not found, "\n".join(found)


def test_every_exception_is_there() -> None:
    assert mirror.find_stale() == []


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("askd/store/writer.py", "store/test_writer.py"),
        ("askd/config.py", "test_config.py"),
        ("ask/connection.py", "client/test_connection.py"),
        ("ask/fast/argv.py", "client/fast/test_argv.py"),
    ],
)
def test_mirror_of_a_module(module: str, test: str) -> None:
    assert mirror.expected_test(module) == test
    assert mirror.find_untested([module], []) != []
    assert mirror.find_unmirrored([], [test]) != []
    assert mirror.find_untested([module], [test]) == []
    assert mirror.find_unmirrored([module], [test]) == []
