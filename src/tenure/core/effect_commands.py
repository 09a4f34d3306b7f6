"""What may be asked of an Effect, and what it answers.

Who may ask is settled before: a capability names the Delivery and its fence, and whether these still hold is decided
here, in the commit itself. A caller's call id guards what it says of its call."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.delivery import Now
from tenure.core.effect import EffectState
from tenure.core.effect_kind import Params
from tenure.core.ids import DeliveryId, EffectId, TaskId


class BeginEffect(Struct, frozen=True, kw_only=True):
    """Intend an Effect. Idempotent by the key within its Task (default `kind:task:subject`): the same key and
    parameters are answered with what is recorded. `effect_id` is used if the Effect is a new one.

    `finds`, `settling_ms` and `folds` (it ignores case in names) are the provider's.
    `again`: the reason for doing once more what was done."""

    effect_id: EffectId
    delivery_id: DeliveryId
    fence: int
    target: str
    params: Params
    key: str | None = None
    again: str | None = None
    finds: bool = False
    settling_ms: int = 0
    folds: bool = False


class IssueEffect(Struct, frozen=True):
    """The caller is about to call; it gives up `within_ms` from this commit. Idempotent by `call_id`."""

    effect_id: EffectId
    call_id: str
    within_ms: int


class CallEnd(StrEnum):
    CONFIRMED = "confirmed"
    ABSENT = "absent"
    LOST = "lost"


class SettleEffect(Struct, frozen=True):
    """What became of a call: the provider's word (`result`), a certain no (`code`, as an error's, and `reason`), or a lost
    answer."""

    effect_id: EffectId
    call_id: str
    end: CallEnd
    result: str | None = None
    code: str | None = None
    reason: str = ""


class DoubtEffect(Struct, frozen=True):
    """The answer of a call may be lost: its caller is gone, or its time is over. Judged by this commit's clock."""

    effect_id: EffectId


class LookUpEffect(Struct, frozen=True):
    """What the provider said when it was asked at `asked` (before the request left). Neither result nor
    contradiction: it is not there. `unreachable`: it did not answer, for this reason."""

    effect_id: EffectId
    asked: Now
    result: str | None = None
    contradiction: str | None = None
    unreachable: str | None = None


class ResolveEffect(Struct, frozen=True):
    """A person says what became of an Effect that is in doubt or in quarantine. `item_version`: of the attention item
    that was read."""

    effect_id: EffectId
    confirmed: bool
    item_version: int
    by: str
    because: str
    result: str | None = None


class Approve(Struct, frozen=True):
    """A person allows or rejects what needs one: an Effect, or (`effect_id` None) the Task's newest Attempt.

    Idempotent: the same decision again is answered as before; another one is refused."""

    task_id: TaskId
    effect_id: EffectId | None
    approve: bool
    item_version: int
    by: str
    because: str


class EffectAnswer(Struct, frozen=True):
    """The Effect that stands for what was asked. `replayed`: by this very key. `adopted`: it was there under another.

    `problem` is why nothing may be done about it now, as a code of `tenure.errors`."""

    effect_id: EffectId
    state: str
    replayed: bool = False
    adopted: bool = False
    problem: str | None = None

    @property
    def may_be_called(self) -> bool:
        return self.state == EffectState.INTENDED and self.problem is None

    @property
    def is_issued(self) -> bool:
        return self.state == EffectState.ISSUED


EffectCommand = (
    BeginEffect | IssueEffect | SettleEffect | DoubtEffect | LookUpEffect | ResolveEffect | Approve
)
