"""`askd check-config`: one line, and a code that says the same."""

from pathlib import Path

import pytest

from askd.check import check_config


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [("title = 'off'\n", 0, "config.toml: ok"), ("titel = 'off'\n", 2, "titel")],
)
def test_the_file_is_good_or_its_fault_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("ASK_HOME", str(tmp_path))
    file = tmp_path / "config" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)
    assert check_config() == code
    out, err = capsys.readouterr()
    assert said in (err if code else out)
