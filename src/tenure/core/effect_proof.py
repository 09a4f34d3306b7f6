"""When "it is not there" begins to prove something: the same terms as in `effect_settle`, as a wait."""

from __future__ import annotations

from tenure.core.delivery import Now, Term
from tenure.core.effect import Effect


def left_ms(term: Term, now: Now, more_ms: int = 0) -> int:
    """How long until the term, and `more_ms` after it, is over (`core.delivery.is_over`); 0 once it is."""
    since = term.awake_ms if term.hub == now.hub else 0
    by_wall = term.ends_at_ms + more_ms - now.wall_ms
    by_waking = term.length_ms + more_ms - (now.awake_ms - since)
    return max(0, by_wall, by_waking)


def proves_in_ms(effect: Effect, now: Now) -> int:
    """How long until a lookup that finds nothing proves something of an Effect in doubt."""
    if effect.not_found_term is not None:
        return left_ms(effect.not_found_term, now)
    return left_ms(effect.call_term, now, effect.settling_ms) if effect.call_term is not None else 0
