"""Each code has its exception, and none says less than the daemon did."""

import pytest

import ask
from ask import connection, exits
from ask.connection import RpcError
from ask.library.errors import BY_CODE, make_error, translated
from ask.listener import NoDaemon
from ask.protocol.errors import EXIT_CODES, REASONS

NOT_OURS = {0, 141, 143}
"""No failure, and what only a process can end with."""


def test_every_code_has_a_class_of_its_own() -> None:
    assert set(BY_CODE) == set(EXIT_CODES) - NOT_OURS
    assert set(REASONS.values()) <= set(BY_CODE)
    assert len(set(BY_CODE.values())) == len(BY_CODE)


@pytest.mark.parametrize(("code", "kind"), BY_CODE.items())
def test_an_error_says_its_code(code: int, kind: type[ask.Error]) -> None:
    assert kind.__doc__ is not None
    assert kind.__doc__.startswith(f"Code {code}: ")
    error = make_error(code, "Odd.", data={"reason": "x"}, text="so far")
    assert type(error) is kind
    assert (error.code, str(error), error.reason, error.text) == (code, "Odd.", "x", "so far")


def test_a_code_that_nobody_knows_is_an_error_all_the_same() -> None:
    error = make_error(99, "Odd.")
    assert type(error) is ask.Error
    assert (error.code, error.reason) == (99, "internal")


def test_a_refusal_is_told_whole() -> None:
    refusal = RpcError(3, "Not there.", {"reason": "job_not_found", "hint": "Look.", "job_id": "x"})
    with pytest.raises(ask.NotFound, match="Not there") as caught, translated("c", "t", "so far"):
        raise refusal
    error = caught.value
    assert (error.code, error.reason, error.hint) == (3, "job_not_found", "Look.")
    assert error.data["job_id"] == "x"
    assert (error.conversation_id, error.turn_id, error.text) == ("c", "t", "so far")
    assert error.__cause__ is refusal


def test_a_lost_connection_is_more_than_no_daemon() -> None:
    with pytest.raises(ask.ConnectionLost) as lost, translated():
        raise connection.Silent(4711)
    assert lost.value.code == 69
    with pytest.raises(ask.NoDaemon) as absent, translated():
        raise NoDaemon("No daemon is running.", hint="Start it.")
    assert type(absent.value) is ask.NoDaemon
    with pytest.raises(ask.StorageFailed), translated():
        raise NoDaemon("It cannot be written.", code=exits.STORAGE)


def test_what_is_no_failure_of_ours_passes() -> None:
    with pytest.raises(KeyboardInterrupt), translated():
        raise KeyboardInterrupt
