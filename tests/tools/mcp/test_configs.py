"""Which of a server's tools are offered."""

from collections.abc import Sequence

import pytest

from askd.tools.mcp.configs import ServerConfig


@pytest.mark.parametrize(
    ("enabled", "disabled", "offered"),
    [
        (None, (), {"read", "read_all", "write"}),
        (("read*",), (), {"read", "read_all"}),
        (("read*",), ("*_all",), {"read"}),
        (None, ("write",), {"read", "read_all"}),
        ((), (), set()),
    ],
)
def test_only_what_is_wanted_is_offered(
    enabled: Sequence[str] | None, disabled: Sequence[str], offered: set[str]
) -> None:
    config = ServerConfig(name="x", command="x", enabled_tools=enabled, disabled_tools=disabled)
    assert {each for each in ("read", "read_all", "write") if config.offers(each)} == offered


def test_a_secret_is_not_shown_by_accident() -> None:
    config = ServerConfig(name="x", url="u", env={"K": "s3cret"}, headers={"H": "s3cret"})
    assert "s3cret" not in repr(config)
