"""The shapes of the settings: what is wrong in itself, whatever stands beside it."""

import pytest
from pydantic import ValidationError

from askd.settings import ModelSettings, ProviderSettings, Settings


@pytest.mark.parametrize("url", ["ftp://host/v1", "127.0.0.1:8000", "http://", ""])
def test_an_address_is_http_and_names_a_host(url: str) -> None:
    with pytest.raises(ValidationError, match="is no address"):
        ProviderSettings(base_url=url)


@pytest.mark.parametrize("call", ["/chat/completions", "/responses/", "/messages", "/api/chat"])
def test_an_address_ends_before_what_a_dialect_adds(call: str) -> None:
    with pytest.raises(ValidationError, match="leave /"):
        ProviderSettings(base_url=f"http://host/v1{call}")
    assert (
        ProviderSettings(base_url="http://host/messages/v1").base_url == "http://host/messages/v1"
    )


def test_a_name_is_not_blank() -> None:
    with pytest.raises(ValidationError, match="is empty"):
        Settings(default_model=" ")


def test_a_price_is_one_of_input_and_of_output() -> None:
    with pytest.raises(ValidationError, match="come together"):
        ModelSettings(output_price=1.0)
    assert ModelSettings(input_price=0.0, output_price=0.0).input_price == 0
