"""The two tables of exit codes are one."""

from ask.protocol import errors
from askd.core import outcome


def test_core_and_contract_agree_on_the_codes() -> None:
    in_core = {name: code for name, code in vars(outcome).items() if name.isupper()}
    in_contract = {name: getattr(errors, name) for name in in_core}
    assert in_core == in_contract
    assert set(in_core.values()) <= set(errors.EXIT_CODES)
