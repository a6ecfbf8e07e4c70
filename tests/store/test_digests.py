"""A key that comes again is the same prompt by its digest, or by a mark that fits every one."""

from askd.store.digests import ANY_DIGEST, is_same_prompt


def test_a_digest_fits_itself_and_no_other() -> None:
    assert is_same_prompt("ab", "ab")
    assert not is_same_prompt("ab", "ac")


def test_what_is_not_known_any_more_fits_every_prompt() -> None:
    assert is_same_prompt(ANY_DIGEST, "ab")
    assert not is_same_prompt("ab", ANY_DIGEST), "a caller cannot say it"
