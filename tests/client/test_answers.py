"""What an answer means: a result, or a refusal with its code."""

import pytest

from ask.answers import ConnectionLost, RpcError, Silent, unpack
from ask.protocol.frames import Response


def test_a_result_is_a_map() -> None:
    assert unpack(Response(1, None, {"a": 1})) == {"a": 1}
    assert unpack(Response(1, None, None)) == {}


@pytest.mark.parametrize(("code", "meant"), [(8, 8), (0, 1), (256, 1), ("8", 1), (None, 1)])
def test_a_refusal_has_a_code_that_a_process_can_end_with(code: object, meant: int) -> None:
    with pytest.raises(RpcError) as refused:
        unpack(Response(1, {"code": code, "message": "No.", "data": {"reason": "busy"}}, None))
    assert (refused.value.code, refused.value.message) == (meant, "No.")
    assert refused.value.reason == "busy"


def test_a_refusal_of_nothing_is_one() -> None:
    with pytest.raises(RpcError, match="daemon refused") as refused:
        unpack(Response(1, {"data": "x"}, None))
    assert refused.value.reason == "internal"


def test_silence_is_a_kind_of_loss() -> None:
    assert isinstance(Silent(), ConnectionLost)
    assert "kill -KILL 7" in str(Silent(7).hint)
