"""Bodies that are right, for operations whose description has no example, or one that does not fit what is on the stage.
Names are replaced by what is there."""

from __future__ import annotations

from typing import Any

_PROOF = {"delivery_id": "D", "fence": 1, "token": "T"}
BODIES: dict[str, Any] = {
    "enroll": {
        "name": "laptop",
        "credential": "c" * 40,
        "incarnation": "i_other",
        "boot_id": "boot1",
        "contract": 1,
        "platform": "linux",
        "version": "1",
        "recipients": [
            {"name": "claude", "harness": "command", "pools": ["pool"], "capacity": 4, "provider": "acme"}
        ],
    },
    "claim": {"incarnation": "I", "claim_id": "c", "free": {"claude@laptop": 1}, "wait_s": 0},
    "acknowledge": {"incarnation": "I", "items": [{**_PROOF, "receipt_digest": "r" * 64}]},
    "renew": {
        "incarnation": "I",
        "items": [
            {
                **_PROOF,
                "counter": 1,
                "started_at_ms": 1,
                "progress": {"output_bytes": 1, "fraction": 0.5, "message": "x"},
                "usage": {"input_tokens": 1, "wall_s": 1.5},
            }
        ],
    },
    "report": {
        "incarnation": "I",
        "items": [
            {
                **_PROOF,
                "outcome": {
                    "verdict": "completed",
                    "evidence": "{}",
                    "summary": "x",
                    "head_sha": "x",
                    "usage": {"input_tokens": 1},
                },
            }
        ],
    },
    "reconcile": {
        "incarnation": "I",
        "sequence": 1,
        "holdings": [{"delivery_id": "D", "fence": 1, "stage": "started"}],
    },
    "retry_task": {"because": "x", "changes": {"add": "Mind the column.", "timeout_s": 7200}},
    "receive_webhook": {
        "repository": {"full_name": "shop"},
        "project": {"path_with_namespace": "shop"},
        "pull_request": {"body": "tenure:effect e_00000000000000000000000001"},
    },
}
