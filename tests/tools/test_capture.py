"""Capture: beginning and end of any output, and no more memory than that."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from askd.tools.capture import KEEP_BYTES, LEFT_OUT, Capture


def capture(*pieces: bytes, keep_bytes: int = KEEP_BYTES) -> Capture:
    """A capture that was fed these pieces."""
    made = Capture(keep_bytes)
    for each in pieces:
        made.feed(each)
    return made


def test_what_fits_is_there_whole() -> None:
    assert capture(b"one ", b"two ", "drei ä".encode()).text() == "one two drei ä"
    assert capture().text() == ""


def test_of_more_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() -> None:
    text = capture(b"a" * 10, b"b" * 100, b"c" * 10, keep_bytes=20).text()
    assert text == "a" * 10 + LEFT_OUT.format(count=100) + "c" * 10
    huge = Capture(20)
    huge.total_bytes = 1024**3 - 10
    huge.feed(b"c" * 10)
    assert "[... 1,073,741,814 bytes left out ...]" in huge.text()


@given(
    st.lists(st.integers(0, 300_000), max_size=12),
    st.integers(2, 64),
)
def test_the_ends_do_not_depend_on_the_pieces(lengths: list[int], keep_bytes: int) -> None:
    whole = bytes(b"0123456789abcdefghijklmnopqrstuvwxyz" * (sum(lengths) // 36 + 1))
    whole = whole[: sum(lengths)]
    made = Capture(keep_bytes)
    place = 0
    for length in lengths:
        made.feed(whole[place : place + length])
        place += length
    half = keep_bytes // 2
    left_out = len(whole) - 2 * half
    if left_out <= 0:
        assert made.text() == whole.decode()
    else:
        head, tail = whole[:half].decode(), whole[-half:].decode()
        assert made.text() == head + LEFT_OUT.format(count=left_out) + tail
    assert made.total_bytes == len(whole)


@given(st.text(st.sampled_from("aé€😀"), min_size=30), st.integers(16, 40))
def test_no_character_is_cut_in_two(text: str, keep_bytes: int) -> None:
    assert "\ufffd" not in capture(text.encode(), keep_bytes=keep_bytes).text()


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert capture(b"\xff\xfe ok \x80").text() == "\ufffd\ufffd ok \ufffd"
    assert "\ufffd" in capture(b"\x80" * 100, keep_bytes=20).text()


def test_sequences_for_a_terminal_do_not_survive_also_where_the_middle_is_missing() -> None:
    text = capture(b"\x1b]52;c;", b"A" * 100, b"\x07\x1b[0m end", keep_bytes=20).text()
    assert "\x1b" not in text
    assert "\x07" not in text
    assert text.endswith(" end")


def test_it_keeps_no_more_than_it_says_however_much_comes() -> None:
    piece = b"x" * 65_536
    made = Capture()
    tracemalloc.start()
    for _ in range(1024):  # 64 MiB
        made.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * KEEP_BYTES
    assert made.total_bytes == 1024 * 65_536
