"""Certificates: a file's, else the system's, else Mozilla's; a bad file is one sentence."""

import ssl
from pathlib import Path
from types import SimpleNamespace

import certifi
import pytest

from askd.errors import Unavailable
from askd.providers.base import Endpoint
from askd.providers.http.certificates import has_system_store, load_certificates
from tests.fakes.wire_server import TLS


def endpoint(ca_file: str | None) -> Endpoint:
    """An endpoint that trusts this file."""
    return Endpoint(provider="work", base_url="https://host/v1", ca_file=ca_file)


def test_file_replaces_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    context = load_certificates(endpoint(str(TLS / "good.pem")))
    assert [each["notAfter"] for each in context.get_ca_certs()] == ["Jan  1 00:00:00 2120 GMT"]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    monkeypatch.setenv("HOME", str(TLS))
    assert load_certificates(endpoint("~/good.pem")).get_ca_certs()


def find_paths(monkeypatch: pytest.MonkeyPatch, cafile: str | None, capath: str | None) -> None:
    """Let OpenSSL look for the system's certificates there."""
    paths = SimpleNamespace(cafile=cafile, capath=capath)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)


@pytest.mark.parametrize("is_there", [True, False])
def test_system_without_certificates_gets_mozillas(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def create(cafile: str | None = None) -> ssl.SSLContext:
        asked.append(cafile)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(ssl, "create_default_context", create)
    find_paths(monkeypatch, "/etc/ssl/cert.pem" if is_there else None, None)
    load_certificates(endpoint(None))
    assert asked == [None if is_there else certifi.where()]


def test_where_a_system_keeps_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find_paths(monkeypatch, "/etc/ssl/cert.pem", None)
    assert has_system_store()
    find_paths(monkeypatch, None, None)
    assert not has_system_store()
    find_paths(monkeypatch, None, str(tmp_path))
    assert not has_system_store()
    (tmp_path / "abc.0").touch()
    assert has_system_store()


def test_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"`ca_file` .*none\.pem cannot be used: No such file"):
        load_certificates(endpoint(str(tmp_path / "none.pem")))
    (tmp_path / "empty.pem").touch()
    with pytest.raises(Unavailable, match="it holds no certificate") as caught:
        load_certificates(endpoint(str(tmp_path / "empty.pem")))
    assert caught.value.data == {"final": True}
