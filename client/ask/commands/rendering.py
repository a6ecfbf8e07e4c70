"""What `ask doctor` says of answers on a terminal: painted, or why not. It imports no rich."""

from collections.abc import Mapping

from ask.commands.findings import Finding
from ask.markdown.wanted import find_plainness, is_installed

CHECK = "rendering"
INSTALL_HINT = "To have them painted: pip install 'askd[chat]'"


def check_rendering(environ: Mapping[str, str]) -> Finding:
    """Plain answers are in order too; this says why they are."""
    if not is_installed():
        text = "answers are shown plainly, for the extra `chat` is not installed"
        return Finding(CHECK, "ok", text, INSTALL_HINT)
    why = find_plainness(environ)
    if why is not None:
        return Finding(CHECK, "ok", f"answers are shown plainly, for {why}")
    return Finding(CHECK, "ok", "answers are painted on a terminal")
