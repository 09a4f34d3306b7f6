"""The stage of the story about recovery: one recipient whose program fails in another way at every attempt.

The program is a script that plays an agent. It says what it says over the harness protocol, so everything that follows is
decided by the record and the policy alone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tenure.cli.demo.stage import NODE, staged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tenure.cli.demo.stage import Stage
    from tenure.cli.demo.story import Story
    from tenure.cli.text.output import Output

RECIPIENT = "keeper"
ADDRESS = f"{RECIPIENT}@{NODE}"
MISSING = "LANTERN_OIL"
"""The variable that the program needs and that its configuration lacks at first."""

SETTINGS = '''\
# Leases as short as they can be, so that nobody has to wait for them.
[hub]
port = 0
offer_ttl_s = 5
lease_ttl_s = 6
suspect_grace_s = 5
cancel_grace_s = 10

[node]
name = "demo"
renew_every_s = 1
margin_s = 1
stop_grace_s = 2

[[recipients]]
name = "keeper"
provider = "oil-merchant"
script = """
set -u
say() { printf '%s\\\\n' "$1" >&"$TENURE_PROTOCOL_FD"; }
failed() { say '{"type": "result", "verdict": "failed", "summary": "'"$1"'"'"$2"'}'; }
say '{"type": "usage", "input_tokens": 900, "output_tokens": 100, "cost_usd_micros": 20000, "tool_calls": 3}'
case "$TENURE_ATTEMPT" in
1)  failed "the harbor master refuses us the tower" ', "evidence": {"http_status": 403}'
    exit 77 ;;
2)  if [ -z "${LANTERN_OIL:-}" ]; then
        failed "LANTERN_OIL is not set" ''
        exit 78
    fi ;;
3)  failed "the merchant has no oil left today" ', "retry_after_s": 2, "evidence": {"http_status": 429}'
    exit 75 ;;
4)  echo "the ladder breaks"
    kill -KILL $$ ;;
5)  base=$(git ls-remote "$BEACON" refs/heads/main | cut -c 1-40)
    failed "the rock has moved under the tower" ', "class": "conflict", "evidence": {"base_sha": "'"$base"'"}'
    exit 1 ;;
6)  say '{"type": "result", "verdict": "completed", "summary": "the light burns"}'
    exit 3 ;;
esac
echo "A wick, laid by attempt $TENURE_ATTEMPT." > wick.md
git add wick.md
git commit --quiet --message "Lay a wick"
say '{"type": "result", "verdict": "completed", "summary": "the wick is laid"}'
"""

[recipients.env]
BEACON = "@REPOSITORY@"
'''


def add_oil(stage: Stage) -> None:
    """Put into the settings what the program lacks."""
    path = stage.home.parent / "tenure.toml"
    path.write_text(f'{path.read_text()}{MISSING} = "enough"\n')


@asynccontextmanager
async def recovery_staged(out: Output, story: Story, *, keep: bool) -> AsyncGenerator[Stage]:
    """The stage, up; afterwards everything that it started is gone, however the story ended.

    Raises:
        TenureError: hub and node did not get ready.
        NotSoError: something was left running.
    """
    async with staged(out, story, None, keep=keep, settings=SETTINGS) as stage:
        yield stage
