"""The environment of a run: the node's own, less the powers to act outside Tenure.

Under the isolation `open` hidden are the forges' tokens, the SSH agent, askpass programs, git's credential helpers,
variables that point git at another repository, the marks of an agent session that the node itself was started from, and
every `TENURE_…` variable (the node's own tokens are among them). The model's login stays: without it no agent works.

Under `user` and `sandbox` it is the other way round: what is listed is passed on, and nothing else.

For `open` this is a rail, not a wall. A program of the same user can still read that user's files: `~/.netrc`, SSH keys
without a passphrase, the stored login of a forge's own command. Only the isolations `user` and `sandbox` may
promise more (DESIGN 6).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

FORGE_VARIABLES: Final = (
    "GITHUB_TOKEN", "GITHUB_PAT", "GITHUB_API_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
    "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GH_PAT",
    "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "GITLAB_PRIVATE_TOKEN", "GITLAB_API_TOKEN", "GITLAB_OAUTH_TOKEN",
    "GL_TOKEN", "CI_JOB_TOKEN", "CI_REGISTRY_PASSWORD", "CI_DEPLOY_PASSWORD",
    "GITEA_TOKEN", "GITEA_ACCESS_TOKEN", "GITEA_SERVER_TOKEN", "FORGEJO_TOKEN", "CODEBERG_TOKEN",
    "BITBUCKET_TOKEN", "BITBUCKET_ACCESS_TOKEN", "BITBUCKET_APP_PASSWORD", "BITBUCKET_PASSWORD",
    "AZURE_DEVOPS_EXT_PAT", "AZURE_DEVOPS_PAT", "SYSTEM_ACCESSTOKEN",
    "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL",
    "GIT_TOKEN", "GIT_PASSWORD", "GIT_USERNAME", "HUB_TOKEN", "HOMEBREW_GITHUB_API_TOKEN", "JJ_GITHUB_TOKEN",
)  # fmt: skip
"""Logins of forges, under the names that their own tools, CI systems and common scripts use."""

LOGIN_VARIABLES: Final = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE",
    "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GCM_*", "GIT_CREDENTIAL_*",
)  # fmt: skip
"""Ways to a key or a password that do not carry it themselves."""

GIT_VARIABLES: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_INTERNAL_*",
    "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_KEY_*", "GIT_CONFIG_VALUE_*",
)  # fmt: skip
"""What a hook or a wrapping git hands down: another repository, or headers with a login."""

SESSION_VARIABLES: Final = (
    "CLAUDECODE*", "CLAUDE_CODE_*", "CLAUDE_AGENT_*", "CODEX_SANDBOX*", "GEMINI_CLI", "OPENCODE",
)  # fmt: skip
"""Marks of an agent session around the node; an agent that sees them behaves as its child."""

MODEL_VARIABLES: Final = (
    "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
)  # fmt: skip
"""Named like a session's marks, but a login or a setting of the model: these stay."""

PLAIN_VARIABLES: Final = (
    "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CI",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
)  # fmt: skip
"""What `user` and `sandbox` pass on beside the model's login: nothing in it opens anything."""

LOGIN_OF_MODEL: Final = (
    "ANTHROPIC_*", "OPENAI_*", "CODEX_API_KEY", "GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GENAI_*", "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION", "AZURE_OPENAI_*", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "MISTRAL_*", "OPENROUTER_*",
    "DEEPSEEK_*", "GROQ_*", "XAI_*", "COHERE_*", "TOGETHER_*", "FIREWORKS_*", "CEREBRAS_*", "OLLAMA_*", "MOONSHOT_*",
)  # fmt: skip
"""Under these names the models' own tools look for their login and their address."""

OWN_VARIABLES: Final = ("TENURE_*",)

WITHOUT_CREDENTIALS: Final[Mapping[str, str]] = {
    # An empty helper empties the list of helpers, those for single hosts included; it is read after all
    # files.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "credential.helper",
    "GIT_CONFIG_VALUE_0": "",
    "GIT_CONFIG_KEY_1": "core.askPass",
    "GIT_CONFIG_VALUE_1": "",
    # Else git asks on the terminal of whoever started the node, and waits.
    "GIT_TERMINAL_PROMPT": "0",
}


def open_environment(
    inherited: Mapping[str, str], strip: Iterable[str] = (), keep: Iterable[str] = ()
) -> dict[str, str]:
    """The inherited environment as the isolation `open` passes it on.

    `strip`: further names to hide, `*` stands for anything. `keep`: exact names that the rules for forges,
    logins and sessions would hide and that are to stay. Neither can bring back the node's own variables or
    git's handed-down ones; and what `strip` names is hidden even if `keep` names it.
    """
    lenient = matcher((*FORGE_VARIABLES, *LOGIN_VARIABLES, *SESSION_VARIABLES))
    strict = matcher((*OWN_VARIABLES, *GIT_VARIABLES, *strip))
    kept = frozenset((*MODEL_VARIABLES, *keep))
    passed = {
        name: value
        for name, value in inherited.items()
        if not strict.fullmatch(name) and (name in kept or not lenient.fullmatch(name))
    }
    return passed | WITHOUT_CREDENTIALS


def closed_environment(
    inherited: Mapping[str, str], strip: Iterable[str] = (), keep: Iterable[str] = ()
) -> dict[str, str]:
    """The inherited environment as `user` and `sandbox` pass it on: what is listed here or in `keep`, and nothing else.

    A list of what to hide would miss the token that somebody keeps under a name of their own.
    """
    listed = matcher((*PLAIN_VARIABLES, *LOGIN_OF_MODEL))
    named = frozenset((*MODEL_VARIABLES, *keep))
    passed = {name: value for name, value in inherited.items() if name in named or listed.fullmatch(name)}
    return open_environment(passed, strip, keep)


def matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    """One expression for many names, in which `*` stands for anything."""
    return _matcher(tuple(patterns))


@lru_cache(maxsize=64)
def _matcher(patterns: tuple[str, ...]) -> re.Pattern[str]:
    # There are as many as there are recipients' settings; making one takes longer than all the rest of a launch.
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))
