"""The table of providers that need no configuration."""

from pathlib import Path

from ask.protocol.names import CALLER_ENVIRONMENT, KEY_NAMES
from askd.providers.addresses import is_loopback, read_host
from askd.providers.known import DIALECT_ADDRESSES, KNOWN, known_config


def test_every_key_that_travels_is_somebodys_and_every_key_travels() -> None:
    assert {each.key_env for each in KNOWN.values() if each.key_env} == set(KEY_NAMES)
    addresses = {each.address_env for each in KNOWN.values() if each.address_env}
    assert addresses <= set(CALLER_ENVIRONMENT)


def test_keys_go_only_to_encrypted_addresses() -> None:
    for each in KNOWN.values():
        host = read_host(each.base_url)
        assert host is not None
        assert each.base_url.startswith("https://") or is_loopback(host)
        assert not each.base_url.endswith("/")
    assert all(not address.endswith("/") for address in DIALECT_ADDRESSES.values())


def test_a_known_provider_is_not_a_configured_one() -> None:
    config = known_config(KNOWN["anthropic"])
    assert (config.dialect, config.api_key_env) == ("anthropic", "ANTHROPIC_API_KEY")
    assert not config.is_configured


def test_the_page_of_providers_has_the_same_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "providers.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    for each in KNOWN.values():
        row = f"| `{each.name}` | `{each.dialect}` | `{each.base_url}`"
        (found,) = [line for line in rows if line.startswith(row)]
        assert f"`{each.key_env}`" in found or each.key_env is None
        assert f"`{each.address_env}`" in found or each.address_env is None
