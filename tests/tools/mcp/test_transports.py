"""The SDK is not installed everywhere; then a sentence says how it is."""

import subprocess
import sys

import pytest

from askd.tools.base import CannotRun
from askd.tools.mcp.transports import check_installed


def test_it_is_there_or_a_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(CannotRun, match=r'pip install "askd\[mcp\]"$'):
        check_installed()


def test_who_has_no_server_never_loads_it() -> None:
    """It takes half a second and 30 MB."""
    program = (
        "import askd.app, sys\n"
        "print(sorted({each.partition('.')[0] for each in sys.modules}"
        " & {'mcp', 'mcp_types', 'httpx2', 'starlette'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
