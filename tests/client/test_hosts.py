"""Addresses of other machines, and the words that `ssh` is started with."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.exits import Failed
from ask.hosts import build_command, find_host, quote_word, read_host, read_words
from tests.fakes.ssh import check_words


@pytest.mark.parametrize(
    ("text", "name", "user", "port"),
    [
        ("ssh://far", "far", None, None),
        ("ssh://me@far.example.org", "far.example.org", "me", None),
        ("ssh://far:2222", "far", None, 2222),
        ("ssh://me@10.0.0.7:22/", "10.0.0.7", "me", 22),
        ("ssh://[::1]", "::1", None, None),
        ("ssh://me@[fe80::1%eth0]:2222", "fe80::1%eth0", "me", 2222),
        ("ssh://me@example.org@far", "far", "me@example.org", None),
        ("ssh://DOMAIN\\me@far", "far", "DOMAIN\\me", None),
        ("ssh://my_box-2", "my_box-2", None, None),
    ],
)
def test_addresses(text: str, name: str, user: str | None, port: int | None) -> None:
    host = read_host(text)
    assert (host.name, host.user, host.port) == (name, user, port)


@pytest.mark.parametrize(
    "text",
    [
        *("", "far", "me@far", "http://far", "SSH://far", "ssh:/far", "ssh://"),
        *("ssh://-oProxyCommand=touch${IFS}x", "ssh://-far", "ssh://-l@far", "ssh://me@-far"),
        *("ssh://far/run/askd.sock", "ssh://far?x=y", "ssh://far#x", "ssh://far//"),
        *("ssh://me:secret@far", "ssh://@far", "ssh://me@", "ssh://me@@", "ssh://:22"),
        *("ssh://far:", "ssh://far:0", "ssh://far:65536", "ssh://far:1e3", "ssh://far:22:22"),
        *("ssh://far:²", "ssh://far:٢٢", "ssh://far:-1", "ssh://far: 22", "ssh://far:+22"),
        *("ssh://[::1", "ssh://::1", "ssh://[]", "ssh://[::1]22", "ssh://[far]", "ssh://[-a::]"),
        *("ssh://fa r", "ssh://far\n", "ssh://fär", "ssh://far;id", "ssh://$(id)", "ssh://`id`"),
        *("ssh://far%0a", "ssh://me%40x@far", "ssh://%h", "ssh://a'b@far", "ssh://" + "a" * 254),
    ],
)
def test_what_is_no_address_is_refused_before_ssh_sees_it(text: str) -> None:
    with pytest.raises(Failed) as refused:
        read_host(text)
    assert refused.value.code == 2
    assert refused.value.message.isprintable()
    assert "ssh://user@host" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("far", "an address begins with ssh://"),
        ("ssh://", "it names no host"),
        ("ssh://me@-far", "no host is called that"),
        ("ssh://-l@far", "no user is called that"),
    ],
)
def test_it_is_said_what_is_wrong_with_it(text: str, why: str) -> None:
    with pytest.raises(Failed) as refused:
        read_host(text)
    assert refused.value.message == f"{text} is no address of a machine: {why}."


def test_nothing_is_said_of_a_password() -> None:
    with pytest.raises(Failed) as refused:
        read_host("ssh://me:secret@far")
    assert "password" in refused.value.message


@given(st.text(max_size=40) | st.text("-@:/[]%.ao ", max_size=20))
def test_whatever_is_said_no_word_becomes_an_option(rest: str) -> None:
    try:
        host = read_host(f"ssh://{rest}")
    except Failed:
        return
    for start, batch in ((True, False), (False, True)):
        check_words(build_command(host, {}, start=start, batch=batch)[1:])


def test_no_variable_is_this_machine() -> None:
    assert find_host({}) is None
    assert find_host({"ASK_HOST": ""}) is None
    assert str(find_host({"ASK_HOST": "ssh://me@far:22"})) == "me@far"


def test_a_command_is_whole() -> None:
    command = build_command(read_host("ssh://me@far:2222"), {}, start=True, batch=True)
    assert command[0] == "ssh"
    assert {"-T", "-a", "-oBatchMode=yes", "-oClearAllForwardings=yes"} < set(command)
    assert command[-7:] == ["-l", "me", "-p", "2222", "--", "far", "ask dial-stdio"]
    attended = build_command(read_host("ssh://far"), {}, start=False, batch=False)
    assert attended[-3:] == ["--", "far", "ask dial-stdio --no-start"]
    assert "-oBatchMode=yes" not in attended
    assert read_host("ssh://me@far:2222").by_hand == "ssh -p 2222 me@far"
    assert read_host("ssh://far").by_hand == "ssh far"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/opt/ask/bin/ask", "/opt/ask/bin/ask"),
        ("~/.local/bin/ask", "~/.local/bin/ask"),
        ("env ASK_HOME=/srv/a ask", "env ASK_HOME=/srv/a ask"),
        ("'/opt/my programs/ask'", "'/opt/my programs/ask'"),
        ("'~/my programs/ask'", "~/'my programs/ask'"),
        ("~other/ask", "'~other/ask'"),
    ],
)
def test_where_ask_is_over_there(said: str, shown: str) -> None:
    environ = {"ASK_REMOTE_COMMAND": said}
    command = build_command(read_host("ssh://far"), environ, start=True, batch=True)
    assert command[-1] == f"{shown} dial-stdio"


@pytest.mark.parametrize(
    "said",
    ["ask; id", "ask && id", "$(id)", "`id`", "ask > x", "a'b", '"', " ", "'ask\nid'", "a\\\\b"],
)
def test_a_command_is_words_and_nothing_for_a_shell(said: str) -> None:
    with pytest.raises(Failed) as refused:
        build_command(read_host("ssh://far"), {"ASK_REMOTE_COMMAND": said}, start=True, batch=True)
    assert refused.value.code == 2


@given(st.lists(st.text("abz09_@%+=:,./-~ ", min_size=1, max_size=9), min_size=1, max_size=4))
def test_a_shell_reads_the_words_that_were_meant(words: list[str]) -> None:
    meant = [word for word in words if word.strip()]
    if not meant:
        return
    assert read_words({"ASK_REMOTE_COMMAND": shlex.join(meant)}) == meant
    said = " ".join(quote_word(word) for word in meant)
    assert shlex.split(said) == meant


def test_a_real_shell_knows_its_home() -> None:
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {quote_word('~/a b')} {quote_word('~x y')}"],
        env={"HOME": "/home/far", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["/home/far/a b", "~x y"]
