"""Who may ask what: written by hand, from what each role is for, and held against the API's own description."""

from __future__ import annotations

VIEWERS = frozenset({"viewer", "submitter", "operator"})
SUBMITTERS = frozenset({"submitter", "operator"})
OPERATORS = frozenset({"operator"})
NODES = frozenset({"node"})
JOINERS = frozenset({"node", "join"})
AGENTS = frozenset({"agent"})

LOOKING = """
list_tasks get_task get_attempts get_why get_task_budget task_events all_events task_effects get_effect list_schedules
get_schedule list_occurrences list_policies get_policy get_policy_by_version list_choices explain_attempt
explain_attempt_by list_accounts get_account list_pauses get_pause list_circuits list_attention count_attention
get_attention get_attention_by_rest list_recipients list_nodes audit_head
"""
GIVING_WORK = """
submit_task submit_batch cancel_task retry_task raise_budget challenge_attempt add_schedule pause_schedule
resume_schedule remove_schedule
"""
ANSWERING = """
approve reject resolve_effect store_policy choose_policy set_account pause resume close_circuit resolve_many
resolve_attention resolve_attention_by_rest snooze_attention snooze_attention_by_rest assign_attention
assign_attention_by_rest close_attention close_attention_by_rest reconcile_attempt forget_node release_node
list_tokens issue_token rotate_token revoke_token audit_export
"""
MAY: dict[str, frozenset[str]] = {
    **dict.fromkeys(LOOKING.split(), VIEWERS),
    **dict.fromkeys(GIVING_WORK.split(), SUBMITTERS),
    **dict.fromkeys(ANSWERING.split(), OPERATORS),
    **dict.fromkeys(["perform_effect", "agent_effects", "agent_context"], AGENTS),
    **dict.fromkeys(["claim", "acknowledge", "renew", "report", "reconcile"], NODES),
    "enroll": JOINERS,
}
"""Who may do each operation, by the operation's id; all others are told 401 or 403."""
PUBLIC = frozenset({"healthz", "readyz", "openapi", "receive_webhook"})
"""What needs no token. A webhook is signed instead."""
HAND_OVER = {"issue_token": "token", "rotate_token": "token", "claim": "grants"}
"""Operations whose answer holds a secret, because that is what they are for, and the field that it stands in."""
