"""Write the default failure policy into docs/concepts/recovery.md, as the code has it.

The page says `<!-- policy: default -->` where the table belongs; what stands between that line and the next `<!-- end -->` is
made here. `python -m tools.policy_table` writes the page; a test compares.
"""

import re
import sys
from pathlib import Path

from tenure.cli.text.policy import HEAD, policy_rows
from tenure.core.policy import BUILT_IN
from tenure.wire.policies import policy_body
from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "concepts" / "recovery.md"
PLACE = re.compile(r"(<!-- policy: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    PAGE.write_text(with_policies(PAGE.read_text()))
    return 0


def with_policies(text: str) -> str:
    """The page with the table of each policy that it names made anew. A name without a policy is an error."""
    return PLACE.sub(lambda place: place[1] + table(place[2]) + place[3], text)


def table(name: str) -> str:
    rows = policy_rows(policy_body(BUILT_IN[name]))
    lines = [
        f"| {' | '.join(HEAD)} |",
        f"|{' --- |' * len(HEAD)}",
        *(f"| `{row[0]}` | {' | '.join(row[1:])} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    no_words("tools.policy_table", __doc__)
    sys.exit(main())
