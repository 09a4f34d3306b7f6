"""What `doctor` finds about providers: which are configured, and whether their credentials can be decrypted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tenure.cli.check.finding import Finding, fail, ok

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenure.runtime.settings_schema import ProviderTable

MEND = "see `tenure provider list`; `tenure provider add NAME` stores a credential again"


def check_providers(tables: Mapping[str, ProviderTable], part: Path, env: Mapping[str, str]) -> list[Finding]:
    """One finding for each provider; nothing is asked of the outside. `part`: the hub's part of the data folder, which
    need not be there."""
    from tenure.cli.process.provider_wiring import configured, provider_parts, secrets_held
    from tenure.errors import TenureError
    from tenure.providers.catalog import make_provider
    from tenure.runtime.credential_store import CredentialStore

    found: list[Finding] = []
    parts = provider_parts(part, env)
    for name, one in configured(tables, CredentialStore(part, env)).items():
        check = f"provider: {name}"
        if one.settings is None:
            found.append(fail(check, one.problem or "it cannot be read", MEND))
            continue
        try:
            make_provider(one.settings, parts)
        except TenureError as error:
            found.append(fail(check, error.message, MEND))
        else:
            found.append(ok(check, f"{one.kind}, with {secrets_held(one.settings)}"))
    return found or [ok("providers", "none is configured: no effect can be done outside")]
