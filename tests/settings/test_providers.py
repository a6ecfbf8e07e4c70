"""What is wrong in the description of a server or a model itself, whatever stands beside it."""

import pytest
from pydantic import ValidationError

from askd.settings import ModelSettings, ProviderSettings


@pytest.mark.parametrize("url", ["ftp://host/v1", "127.0.0.1:8000", "http://", "", "http://["])
def test_an_address_is_http_and_names_a_host(url: str) -> None:
    with pytest.raises(ValidationError, match="is no address"):
        ProviderSettings(base_url=url)


@pytest.mark.parametrize("url", [" http://h/v1", "http://h/v1 ", "http://h/\tv1", "http://h\x07"])
def test_an_address_holds_nothing_that_cannot_be_seen(url: str) -> None:
    with pytest.raises(ValidationError, match="an invisible character"):
        ProviderSettings(base_url=url)
    with pytest.raises(ValidationError, match="an invisible character"):
        ProviderSettings(proxy=url)


@pytest.mark.parametrize("port", ["65536", "0", "x", "-1"])
def test_a_port_is_one(port: str) -> None:
    with pytest.raises(ValidationError, match="from 1 to 65535"):
        ProviderSettings(base_url=f"http://host:{port}/v1")
    assert ProviderSettings(base_url="http://host:65535").base_url == "http://host:65535"


@pytest.mark.parametrize("call", ["/chat/completions", "/responses/", "/messages", "/api/chat"])
def test_an_address_ends_before_what_a_dialect_adds(call: str) -> None:
    with pytest.raises(ValidationError, match="leave /"):
        ProviderSettings(base_url=f"http://host/v1{call}")
    assert (
        ProviderSettings(base_url="http://host/messages/v1").base_url == "http://host/messages/v1"
    )


def test_a_price_is_one_of_input_and_of_output() -> None:
    with pytest.raises(ValidationError, match="come together"):
        ModelSettings(output_price=1.0)
    assert ModelSettings(input_price=0.0, output_price=0.0).input_price == 0
