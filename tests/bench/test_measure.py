"""A whole process is run to its end, and one that has none does not hold up the rest."""

import sys

import pytest

from tests.bench import measure
from tests.bench.measure import Command, run_once


def python(program: str, expected: str | None = None) -> Command:
    return Command([sys.executable, "-c", program], {}, expected=expected)


def test_all_that_is_said_is_compared() -> None:
    many = "x" * 3 * measure.READ_BYTES
    assert run_once(python(f"print('x' * {len(many)})", expected=many)).wall_s > 0
    with pytest.raises(RuntimeError, match="said"):
        run_once(python("print('y')", expected="x"))
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_once(python("import sys; sys.exit(3)"))


def test_one_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RUN_LIMIT_S", 0.3)
    with pytest.raises(RuntimeError, match="did not end"):
        run_once(python("import time; time.sleep(600)"))
