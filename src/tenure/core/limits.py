"""Every bound of the record, with its unit and its reason.

A bound exists so that no single request, harness or node can fill a disk, a commit or a screen for the
others."""

from __future__ import annotations

OBJECTIVE_BYTES = 65_536
"""An objective is a prompt, not a corpus; longer material belongs into the repository or into context
references."""
NAME_LENGTH = 64
"""Names of recipients, nodes, pools and checks: they stand in addresses, paths and table cells."""
KEY_LENGTH = 200
"""An idempotency key: room for `kind:task:subject` with two digests."""
REASON_LENGTH = 4_000
"""A person's reason, answer or note."""
REPOSITORY_LENGTH = 2_048
"""A repository's URL or path."""
CONTEXT_REFERENCES = 100
"""References of one Task; each is fetched and checked before the start."""
LABELS = 32
"""Labels of one Task; they are shown in lists."""
DEPENDENCIES = 100
"""Direct dependencies of one Task; each is a row read at submission."""
LINEAGE = 100
"""Tasks that continue one another in a row; each end looks for dependents of them all."""
CHECKS = 20
"""Acceptance checks of one Task; they run one after another under the Attempt's time limit."""
ARGUMENTS = 500
"""Words of one command line."""
ARGUMENT_BYTES = 65_536
"""All words of one command line together, well under what Linux allows to exec."""
BATCH = 500
"""Items of one batched request: a commit's memory, and the time others wait for it."""
GRANTS = 100
"""Grants of one claim: what a node can mirror and acknowledge well within an offer's life."""
RECIPIENTS = 1_000
"""Recipients of one node."""
POOLS = 16
"""Pools one recipient draws from; each is an index probe at every claim."""
CAPACITY = 10_000
"""Units of one recipient."""
TIMEOUT_S = 30 * 24 * 3600
"""The longest an Attempt may take: thirty days, so that a mistyped unit is noticed."""
EVIDENCE_BYTES = 1_048_576
"""Evidence of one report as JSON (patch, output tail, results): what one row may cost."""
PROGRESS_BYTES = 4_096
"""Progress of one renewal as JSON; it is written every few seconds for every lease."""
SNAPSHOT = 10_000
"""Deliveries named in one reconcile snapshot."""
LATE = 50
"""Late messages kept for one Delivery; further ones are answered and not kept (a looping sender must not fill
the disk)."""
CLOCK_STEP_MS = 60_000
"""The wall clock against the running clock: a larger step within one tick is an attention item."""
FIRST_INSTANT_MS = 0
"""1970: nothing here is older."""
LAST_INSTANT_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, beyond which RFC 3339 cannot write an instant."""
JSON_DEPTH = 64
"""Levels of nesting accepted in a request; deeper ones are refused before decoding (decoders recurse)."""
JSON_VALUES = 250_000
"""Values in one JSON text, counted by its commas; more are refused before decoding. Two bytes of text can become a hundred in
memory; this bounds it whatever the text is. A snapshot of 10,000 Deliveries has 40,000, a batch of 500 full Tasks about as many
as are allowed."""
INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""
EFFECT_PARAMS_BYTES = 131_072
"""Parameters of one Effect as JSON: a pull request's text, not a file."""
EFFECT_TEXT_BYTES = 65_536
"""The body of a pull request, comment or webhook; the forges take about as much."""
EFFECT_RESULT_BYTES = 8_192
"""What is kept of a provider's answer: ids and addresses."""
EFFECTS = 10_000
"""Effects of one Task; a scope may say less. A loop must not fill a forge."""
EFFECT_CALLS = 1_000
"""Calls of one Effect that were never done, before nobody tries any more: an agent's loop must end."""
OPEN_EFFECTS = 100
"""Effects of one Task that are open at a time: they stand in its row, and the end of its lease looks at each."""
SCOPE_PATTERNS = 100
"""Patterns of each kind in one scope; each is tried on every Effect."""
CRON_LENGTH = 200
"""A cron text, or the name of a time zone."""
SCHEDULES = 1_000
"""Recurring schedules that are not removed; each is read at every start."""
MISSED_OCCURRENCES = 100
"""Occurrences of one schedule that are made up for after the hub was away: what a person can still look through, and what
one commit can hold. Earlier ones are passed over."""
OCCURRENCES_COUNTED = 1_000
"""Missed occurrences that are counted one by one; of more it is only known that there were more."""
WEBHOOK_BYTES = 4 * 1_048_576
"""The body of a webhook: a push of the most commits that a forge lists stays below. It is read before its signature can
be checked, so anybody can make the hub hold this much."""
WEBHOOK_ID_LENGTH = 100
"""A forge's delivery id; all of them send UUIDs."""
WEBHOOK_EFFECTS = 100
"""Effects that one webhook gives reason to ask for; further ones are found out about in their own time."""
WEBHOOKS_AN_HOUR = 5_000
"""Webhooks of one provider claimed within an hour. Each is an event and a row that are kept for good; a busy forge of a
whole company stays below, and a message that is turned away is only a hint that was missed."""
POLICY_RULES = 200
"""Rules of one failure policy; each is tried on every failure."""
POLICY_RESPONSES = 50
"""Responses of one failure policy."""
AVOIDED = 20
"""Recipients that one Attempt may be told to avoid; they stand in its spec."""
FEEDBACK_BYTES = 16_384
"""What an Attempt is told of the one before it: the end of a check's output, where the failures stand."""
PASSED_OVER = 200
"""Tasks that one claim may pass over because they must not go to its recipient; behind them it looks no further."""
TRIED = 20
"""Attempts told one by one in a question about a Task; of earlier ones only the number is told."""
SNOOZE_MS = 90 * 86_400_000
"""A question may be put off for so long: a quarter of a year; what nobody wants to see for longer wants an answer."""
