"""One distribution has one version."""

import ask
import askd


def test_client_and_daemon_have_one_version() -> None:
    assert ask.__version__ == askd.__version__
