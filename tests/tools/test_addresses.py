"""What is a page of the public web, and what only looks like one."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.addresses import (
    PORTS,
    Place,
    check_addresses,
    is_public,
    read_redirect,
    read_url,
)
from askd.tools.base import CannotRun

HOSTILE_URLS = [
    # other schemes
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/_x",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "unix:///run/askd.sock",
    "http+unix://%2frun%2faskd.sock/",
    "//example.com/",
    "example.com",
    "",
    "http:",
    "http://",
    "http:///etc/passwd",
    "http:example.com/",
    # names of this machine and this network
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://a.localhost/",
    "http://router/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://metadata.google.internal./",
    "http://nas.lan/",
    "http://nas.home.arpa/",
    "http://1.0.0.127.in-addr.arpa/",
    "http://hidden.onion/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    # numbers that some parser takes for an address
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0x7f.0.0.1/",
    "http://127.1/",
    "http://127.0.0.01/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://0/",
    "http://1.2.3.4.5/",
    "http://256.256.256.256/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://example.1/",
    # users, escapes, other tricks with the host
    "http://user@example.com/",
    "http://user:secret@example.com/",
    "http://example.com@127.0.0.1/",
    "http://@example.com/",
    "http://example.com%40127.0.0.1/",
    "http://127.0.0.1%23@example.com/",
    "http://%6c%6fcalhost/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\\.evil.com/",
    "http://exam\tple.com/",
    "http://example.com\r\nHost: 127.0.0.1/",
    "http://example.com/\r\nX-Other: 1",
    "http://example.com/\x00",
    "http://example .com/",
    " http://example.com/",
    "http://example.com/\u2028",
    "http://exam\u00a0ple.com/",
    "http://-example.com/",
    "http://exa$mple.com/",
    "http://example..com/",
    "http://.example.com/",
    "http://example.com:80:80/",
    "http://[::1/",
    "http://::1/",
    "http://[::1]x/",
    "http://[::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[v1.fe80::a]/",
    "http://[example.com]/",
    f"http://{'a' * 64}.com/",
    f"http://{'a.' * 130}com/",
    # ports that are none of the web
    "http://example.com:0/",
    "http://example.com:22/",
    "http://example.com:25/",
    "http://example.com:6379/",
    "http://example.com:65536/",
    "http://example.com:-80/",
    "http://example.com:8_0/",
    "http://example.com:٨٠/",
    "http://example.com/\ud800",
    "https://example.com/" + "a" * 2000,
]

HOSTILE_ADDRESSES = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1",
    "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.251", "239.255.255.250",
    "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8",
    "100::1", "2001:db8::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2002:7f00:1::", "2002:a9fe:a9fe::", "2002:808:808::", "fc00::1", "fd00:ec2::254", "fe80::1",
    "fe80::1%eth0", "2606:4700::1111%1", "fec0::1", "ff02::1", "ff0e::1", "3fff::1", "5f00::1",
    "", "example.com", "127.1", "0x7f.1", "8.8.8.8:80", "[::1]",
]  # fmt: skip
PUBLIC_ADDRESSES = [
    "8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_what_is_no_page_of_the_web_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(CannotRun) as refused:
        read_url(url)
    assert str(refused.value).endswith(".")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com./a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com:80/", "http://example.com/"),
        ("http://example.com:", "http://example.com/"),
        ("https://example.com:8443/x", "https://example.com:8443/x"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("https://example.com/ä ö".replace(" ", "%20"), "https://example.com/%C3%A4%20%C3%B6"),
        ("https://example.com//evil.com/..//x", "https://example.com//evil.com/..//x"),
        ("https://example.com?q=a@b:c", "https://example.com/?q=a@b:c"),
        ("https://bücher.example.de/", "https://xn--bcher-kva.example.de/"),
        ("https://www.例え.jp/", "https://www.xn--r8jz45g.jp/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700:4700:0::1111]:8080/", "http://[2606:4700:4700::1111]:8080/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("https://xn--bcher-kva.de/", "https://xn--bcher-kva.de/"),
    ],
)
def test_a_page_is_asked_for_in_one_way_of_writing(url: str, written: str) -> None:
    assert read_url(url).url == written
    assert read_url(written).url == written


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_what_not_everybody_reaches_is_not_public(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(CannotRun, match="not on the public web"):
        check_addresses("example.com", ["8.8.8.8", address])


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_what_everybody_reaches_is(address: str) -> None:
    assert is_public(address)
    assert check_addresses("example.com", [address, address]) == [address]


def test_a_name_without_an_address_leads_nowhere() -> None:
    with pytest.raises(CannotRun, match=r"example\.com was not found"):
        check_addresses("example.com", [])


@given(st.ip_addresses(v=4))
def test_an_address_inside_of_another_one_is_judged_as_itself(
    inside: ipaddress.IPv4Address,
) -> None:
    number = int(inside)
    public = is_public(str(inside))
    assert is_public(str(ipaddress.IPv6Address((0xFFFF << 32) | number))) == public
    assert is_public(str(ipaddress.IPv6Address((0x64FF9B << 96) | number))) == public
    # Tunnels are never gone through, whatever is at their other end.
    assert not is_public(str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80))))
    assert not is_public(str(ipaddress.IPv6Address((0x20010000 << 96) | number)))
    assert not is_public(str(ipaddress.IPv6Address(number)))


@given(st.text())
def test_any_text_is_a_place_or_a_refusal(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.com/{text}"):
        try:
            place = read_url(url)
        except CannotRun:
            continue
        assert place.url.isascii()
        assert place.url.isprintable()
        assert " " not in place.url
        assert place.port in PORTS
        assert read_url(place.url) == place


PLACE = Place(scheme="https", host="example.com", port=443, target="/a/b?c=d")


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("?e", "https://example.com/a/b?e"),
        ("//other.example.org/", "https://other.example.org/"),
        ("http://example.com/", "http://example.com/"),
    ],
)
def test_where_a_redirect_leads(location: str, url: str) -> None:
    assert read_redirect(PLACE, location).url == url


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd", "http://127.1/", "//localhost/", "http://a@b.com/", "http://[::1",
        "/x\r\nSet-Cookie: a=b", "//2130706433/", "http://example.com:22/", "javascript:1",
    ],
)  # fmt: skip
def test_a_redirect_is_judged_like_a_url(location: str) -> None:
    with pytest.raises(CannotRun):
        read_redirect(PLACE, location)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.com/", "https://a.com/x", True),
        ("http://a.com/", "https://a.com/", True),
        ("https://a.com/", "http://a.com/", False),
        ("https://a.com/", "https://www.a.com/", True),
        ("https://www.a.com/", "https://a.com/", True),
        ("https://a.com/", "https://b.a.com/", False),
        ("https://a.com/", "https://a.com:8443/", False),
        ("http://a.com:8080/", "https://a.com/", False),
        ("https://www.www.a.com/", "https://a.com/", False),
    ],
)
def test_the_same_house_is_the_same_host_and_no_less_safe(one: str, other: str, same: bool) -> None:
    assert read_url(one).is_same_house(read_url(other)) == same
