"""Examples of the API's description; a test sends each of them."""

from __future__ import annotations

from litestar.openapi.spec import Example

SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

TASK_REQUEST = Example(
    summary="Work on a repository, with a check",
    value={
        "objective": "Make `make test` pass again and say in one sentence what was wrong.",
        "to": "claude",
        "repository": "https://git.example/shop.git",
        "base_sha": SHA,
        "checks": [{"name": "tests", "argv": ["make", "test"], "timeout_s": 600}],
        "timeout_s": 3600,
        "labels": {"team": "shop"},
    },
)
BATCH_REQUEST = Example(
    summary="Two Tasks, the second after the first",
    value={
        "items": [
            {"key": "shop:build", "task": {"objective": "Build it.", "to": "claude"}},
            {
                "key": "shop:test",
                "task": {"objective": "Test it.", "to": "claude", "after": ["key:shop:build"]},
            },
        ]
    },
)
REASON = Example(summary="A reason", value={"because": "the outage of the registry is over"})
CANCEL = Example(
    summary="With all that waits for it", value={"because": "the release was called off", "tree": True}
)
RETRY = Example(
    summary="With a longer objective, on another commit",
    value={
        "because": "the schema has changed since",
        "changes": {"add": "Use the new column `total_cents`.", "base_sha": SHA, "timeout_s": 7200},
    },
)
RAISE = Example(
    summary="Two more attempts, five dollars",
    value={"more": {"attempts": 2, "cost_usd_micros": 5_000_000}, "because": "it is nearly there"},
)
CHALLENGE = Example(
    summary="It did not do what it says",
    value={"number": 1, "about": "claim", "because": "the tests it names do not exist"},
)
ANSWER = Example(
    summary="Try again", value={"answer": "retry", "item_version": 1, "because": "the disk is larger now"}
)
BULK = Example(
    summary="Close all about stalls, but first say what that would do",
    value={
        "answer": "close",
        "filter": {"kind": "stalled"},
        "because": "the build was slow",
        "dry_run": True,
    },
)
SNOOZE = Example(summary="Until tomorrow", value={"item_version": 1, "until_at": "2031-01-02T08:00:00Z"})
ASSIGN = Example(summary="To me", value={"item_version": 1, "to": "me"})
RECONCILE = Example(
    summary="Run it again",
    value={
        "answer": "rerun",
        "because": "the machine was reinstalled and nothing was pushed",
        "item_version": 1,
        "tree_gone": True,
    },
)
CLOSE = Example(summary="Read and done", value={"item_version": 1, "because": "the clock is right again"})
TOKEN_REQUEST = Example(summary="A token that may submit", value={"name": "ci", "role": "submitter"})
EFFECT = Example(
    summary="A pull request",
    value={
        "kind": "pull_request",
        "target": "github:shop/web",
        "params": {"head": "tenure/fix-login", "base": "main", "title": "Fix the login"},
        "wait_s": 0,
    },
)
DECISION = Example(
    summary="Allowed", value={"item_version": 1, "because": "the change is small and was reviewed"}
)
SCHEDULE = Example(
    summary="Every working day at nine in Berlin",
    value={
        "name": "triage",
        "cron": "0 9 * * 1-5",
        "zone": "Europe/Berlin",
        "task": {"objective": "Sort what came in since yesterday.", "to": "claude"},
        "overlap": "skip",
    },
)
RESOLVE = Example(
    summary="It is there",
    value={"confirmed": True, "item_version": 1, "because": "pull request 42 is open", "result": "42"},
)
POLICY = Example(
    summary="The default, but a failed check is looked at by a person",
    value={
        "name": "careful",
        "version": 1,
        "extends": "default",
        "responses": {"validation": {"action": "escalate"}, "capacity": {"first_s": 60}},
    },
)
CHOICE = Example(
    summary="For one project",
    value={"subject": "project:shop", "policy": "careful", "because": "its checks are flaky"},
)
ACCOUNT = Example(
    summary="Fifty dollars, and three attempts for each task",
    value={
        "limits": {"cost_usd_micros": 50_000_000},
        "per_task": {"attempts": 3},
        "weight": 2,
        "because": "the budget of November",
    },
)
PAUSE = Example(
    summary="A machine that is to be updated",
    value={"subject": "node:laptop", "because": "kernel update", "drain": True},
)
RESUME = Example(summary="It is back", value={"subject": "node:laptop", "because": "updated"})
CLOSE_CIRCUIT = Example(
    summary="The quota was raised", value={"quota": "anthropic-team", "because": "the quota was raised"}
)
