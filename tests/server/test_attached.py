"""Who is attached, as clients are told: clean, short, with terminals, and not too many."""

import os

from hypothesis import given
from hypothesis import strategies as st

from ask.protocol.frames import FrameReader, encode_response
from askd.processes.terminals import find_terminal
from askd.server import wire
from askd.server.attached import CLIENTS_LIMIT, NAME_LENGTH, clean_name, describe_clients
from askd.server.handlers.paging import PAGE_LIMIT
from askd.sessions.hub import Client


@given(st.text())
def test_a_name_is_short_and_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    name = clean_name(text)
    assert 0 < len(name) <= NAME_LENGTH
    assert name.isprintable()


def test_a_name_says_what_can_be_said() -> None:
    assert clean_name("ask chat") == "ask chat"
    assert clean_name("a\x1b[31m\nb") == "a [31m b"
    assert clean_name("\u202e") == clean_name("") == "a client"
    assert clean_name("名" * 60) == "名" * NAME_LENGTH


def test_clients_are_described_with_their_terminals() -> None:
    mine, other = describe_clients(
        [Client(program="ask chat", pid=os.getpid(), interactive=True), Client(program="cron")]
    )
    assert (mine.client, mine.pid, mine.interactive) == ("ask chat", os.getpid(), True)
    assert mine.tty == find_terminal(os.getpid())
    assert (other.client, other.pid, other.tty, other.interactive) == ("cron", None, None, False)


def test_a_page_of_the_most_watched_conversations_fits_a_message() -> None:
    crowd = [Client(program="\U0001f600" * NAME_LENGTH, pid=2**22)] * 128
    described = describe_clients(crowd)
    assert len(described) == CLIENTS_LIMIT
    clients = [wire.encode_result(each) for each in described]
    row = {"id": "i" * 36, "name": "名" * 64, "title": "名" * 80, "clients": clients}
    frame = encode_response(1, None, {"data": [row] * PAGE_LIMIT})
    assert len(FrameReader().feed(frame)) == 1
