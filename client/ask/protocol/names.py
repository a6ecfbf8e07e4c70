"""Names that both sides agree on: which of the caller's variables travel, and how.

The values of `CALLER_ENVIRONMENT` are stored with the prompt, since tools run
where the caller stood. The values of `SECRET_NAMES` travel in a map of their
own, live in memory for one turn and for the compaction that it may make necessary,
as long as its conversation is live, and are never stored, logged or given to tools;
proxies are among them, for their addresses may hold a password.
"""

CALLER_ENVIRONMENT: tuple[str, ...] = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "OPENAI_BASE_URL",  # used only together with the caller's own OPENAI_API_KEY
    "ANTHROPIC_BASE_URL",  # the same with ANTHROPIC_API_KEY
    "OLLAMA_HOST",
    "CODEX_HOME",
)

KEY_NAMES: tuple[str, ...] = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "TOGETHER_API_KEY",
)
"""Keys of providers."""

KEYED_ADDRESSES: tuple[str, ...] = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
"""Of `CALLER_ENVIRONMENT`: without the caller's key beside them they mean nothing."""

PROXY_NAMES: tuple[str, ...] = (
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
)
"""The way to providers, in both spellings that programs read."""

SECRET_NAMES: tuple[str, ...] = (*KEY_NAMES, *PROXY_NAMES)

SPAWN_ENVIRONMENT: tuple[str, ...] = (
    "HOME",
    "PATH",
    "LANG",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "ASK_HOME",
    "ASK_SOCKET",
    "ASK_LOG",
)
"""All that a daemon started by a client inherits; nothing else of the caller leaks into it."""
