"""What a child is kept to, where nothing is said: nothing written, no network."""

from askd.processes.confinement import Confinement


def test_nothing_is_allowed_that_was_not_said() -> None:
    nothing = Confinement()
    assert (*nothing.writable, *nothing.hidden, *nothing.read_only) == ()
    assert not nothing.network
