"""What every provider must do, whatever it speaks. A test class per adapter inherits it and says how it is made.

The forge does the counting: after each fault it is asked what was really done."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from tenure.core.scope import EffectKind
from tenure.errors import (
    DuplicateEffectError,
    OutcomeUnknownError,
    ProviderRefusedError,
    TenureError,
    UnavailableError,
)
from tenure.providers.port import Call, Provider
from tests.forge.process import ForgeProcess, running_forge
from tests.providers import desk

LOST_AFTER = (
    "lose_answer",
    "cut_answer",
    "error_after",
    "hang_after",
    "late",
    "page_after",
    "unreadable",
    "flood",
)
UNREAD = frozenset({"page_after", "unreadable", "flood", "page"})
"""Faults in the answer's text, which do not matter where only the status is read."""
NOTHING_DONE = {
    "limit": UnavailableError,
    "secondary_limit": UnavailableError,
    "refuse": ProviderRefusedError,
}
CANNOT_BE_ASKED = (
    "lose_answer",
    "cut_answer",
    "error_before",
    "busy",
    "limit",
    "page",
    "unreadable",
    "flood",
    "hang",
)


class ProviderSuite:
    kind: ClassVar[str]
    below: ClassVar[str] = ""
    options: ClassVar[dict[str, Any]] = {}
    kinds: ClassVar[tuple[EffectKind, ...]] = (
        EffectKind.PULL_REQUEST,
        EffectKind.COMMENT,
        EffectKind.LABEL,
        EffectKind.STATUS,
        EffectKind.MERGE,
    )
    status_only: ClassVar[frozenset[EffectKind]] = frozenset()
    """Kinds of whose calls only the answer's status is read."""
    unnamed: ClassVar[frozenset[EffectKind]] = frozenset()
    """Kinds whose answer does not say what the result is called."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "effect" in metafunc.fixturenames:
            metafunc.parametrize("effect", self.kinds, ids=str)

    def made(self, url: str, **more: Any) -> Provider:
        return desk.provider(self.kind, url + self.below, **{**self.options, **more})

    @pytest.fixture
    async def provider(self, forge: ForgeProcess) -> AsyncIterator[Provider]:
        provider = self.made(forge.url)
        yield provider
        await provider.close()

    async def new_call(self, provider: Provider, effect: EffectKind, **more: Any) -> Call:
        """A call in a repository of its own, with a pull request to be about."""
        target, number = desk.new_target(), 1
        if effect in {EffectKind.COMMENT, EffectKind.LABEL, EffectKind.MERGE}:
            about = desk.call(desk.pull("prepared"), target)
            number = int((await provider.apply(about)).identity)
        return desk.call(desk.params_of(effect, number), target, **more)

    def fault(self, forge: ForgeProcess, call: Call, fault: str, *, find: bool = False, **more: Any) -> None:
        match = call.effect_id if call.kind is EffectKind.HTTP else call.target.split("/")[1]
        operation = f"find_{call.kind}" if find else str(call.kind)
        if self.kind == "gitlab" and operation == "find_label":
            operation = "find_merge"  # a merge request's labels are read from itself
        forge.fault(operation, fault, match=match, **more)

    def done(self, forge: ForgeProcess, call: Call) -> int:
        repository = "" if call.kind is EffectKind.HTTP else call.target
        prepared = "prepared->main"
        return sum(
            number
            for (operation, where, identity, _), number in forge.counts().items()
            if (operation, where) == (call.kind, repository)
            and identity != prepared
            and (call.kind is not EffectKind.HTTP or identity == call.effect_id)
        )

    async def test_what_was_done_is_found_with_the_same_identity(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect)
        result = await provider.apply(call)
        found = await provider.find(call)
        assert found.contradiction is None
        assert found.result is not None
        if effect not in self.unnamed:
            assert found.result.identity == result.identity
        assert self.done(forge, call) == 1

    async def test_what_was_never_asked_for_is_not_found(
        self, provider: Provider, effect: EffectKind
    ) -> None:
        found = await provider.find(await self.new_call(provider, effect))
        assert (found.result, found.contradiction) == (None, None)

    @pytest.mark.parametrize("fault", LOST_AFTER)
    async def test_a_lost_answer_is_unknown_and_found_out(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind, fault: str
    ) -> None:
        call = await self.new_call(provider, effect, deadline_s=deadline_s(fault))
        self.fault(forge, call, fault, ms=2000)
        if effect in self.status_only and fault in UNREAD:
            await provider.apply(call)
        else:
            with pytest.raises(OutcomeUnknownError):
                await provider.apply(call)
        call = msgspec.structs.replace(call, deadline_s=desk.DEADLINE_S)
        assert (await provider.find(call)).result is not None
        assert self.done(forge, call) == 1

    async def test_a_request_lost_on_its_way_is_unknown_and_not_there(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect)
        self.fault(forge, call, "lose_request")
        with pytest.raises(OutcomeUnknownError):
            await provider.apply(call)
        assert (await provider.find(call)).result is None
        assert self.done(forge, call) == 0

    @pytest.mark.parametrize("status", [500, 502, 503, 504])
    async def test_a_failure_of_the_server_is_never_taken_for_not_done(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind, status: int
    ) -> None:
        call = await self.new_call(provider, effect)
        self.fault(forge, call, "error_before", status=status)
        with pytest.raises(OutcomeUnknownError):
            await provider.apply(call)

    @pytest.mark.parametrize("fault", NOTHING_DONE)
    async def test_a_complete_no_is_certain(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind, fault: str
    ) -> None:
        call = await self.new_call(provider, effect)
        self.fault(forge, call, fault)
        with pytest.raises(NOTHING_DONE[fault]) as caught:
            await provider.apply(call)
        assert caught.value.facts.get("retry_after_s") == {"limit": 7.0, "secondary_limit": 60.0}.get(fault)
        assert (await provider.find(call)).result is None
        assert self.done(forge, call) == 0

    async def test_a_busy_server_names_its_time_and_is_unknown_all_the_same(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect)
        self.fault(forge, call, "busy")
        with pytest.raises(OutcomeUnknownError) as caught:
            await provider.apply(call)
        assert caught.value.facts["retry_after_s"] == 3.0

    async def test_a_redirect_is_not_followed(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect)
        self.fault(forge, call, "redirect")
        with pytest.raises(OutcomeUnknownError):
            await provider.apply(call)
        self.fault(forge, call, "redirect", find=True)
        with pytest.raises(ProviderRefusedError):
            await provider.find(call)
        assert self.done(forge, call) == 0

    @pytest.mark.parametrize("fault", CANNOT_BE_ASKED)
    async def test_an_answer_that_cannot_be_used_is_not_taken_for_not_there(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind, fault: str
    ) -> None:
        call = await self.new_call(provider, effect)
        await provider.apply(call)
        self.fault(forge, call, fault, find=True)
        call = msgspec.structs.replace(call, deadline_s=deadline_s(fault))
        with pytest.raises(UnavailableError):
            await provider.find(call)

    async def test_one_call_is_one_request(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect)
        before = len(forge.requests())
        self.fault(forge, call, "error_before")
        with pytest.raises(OutcomeUnknownError):
            await provider.apply(call)
        assert len(forge.requests()) == before + 1

    async def test_what_lists_show_late_is_found_late(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        if effect in {EffectKind.LABEL, EffectKind.MERGE}:
            pytest.skip("it is read from the thing itself, not from a list")
        call = await self.new_call(provider, effect)
        self.fault(forge, call, "lag", ms=300)
        await provider.apply(call)
        assert (await provider.find(call)).result is None
        async with asyncio.timeout(5):
            while (await provider.find(call)).result is None:
                pass

    async def test_a_second_answer_on_the_connection_harms_nobody(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect)
        self.fault(forge, call, "twice")
        await provider.apply(call)
        assert (await provider.find(call)).result is not None

    async def test_a_server_that_is_not_there_did_nothing(self, effect: EffectKind) -> None:
        with socket.socket() as deaf:  # holds its port, so that nobody else answers there
            deaf.bind(("127.0.0.1", 0))
            provider = self.made(f"http://127.0.0.1:{deaf.getsockname()[1]}")
            call = desk.call(desk.params_of(effect, 1), desk.new_target())
            with pytest.raises(UnavailableError):
                await provider.apply(call)
            with pytest.raises(UnavailableError):
                await provider.find(call)
            await provider.close()

    async def test_a_call_whose_time_is_over_is_not_sent(
        self, forge: ForgeProcess, provider: Provider, effect: EffectKind
    ) -> None:
        call = await self.new_call(provider, effect, deadline_s=0.0)
        before = len(forge.requests())
        with pytest.raises(UnavailableError):
            await provider.apply(call)
        assert len(forge.requests()) == before

    async def test_a_wrong_credential_is_a_no_and_is_never_told(
        self, forge: ForgeProcess, effect: EffectKind
    ) -> None:
        provider = self.made(forge.url, credential="wrong")
        call = desk.call(desk.params_of(effect, 1), desk.new_target())
        for asked in (provider.apply, provider.find):
            with pytest.raises(ProviderRefusedError) as caught:
                await asked(call)
            assert caught.value.facts["status"] == 401
            assert "wrong" not in told(caught.value)
        await provider.close()

    async def test_another_kind_is_refused_before_anything_is_sent(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        other = next(one for one in (EffectKind.HTTP, EffectKind.LABEL) if one not in self.kinds)
        call = desk.call(desk.params_of(other, 1), desk.new_target())
        before = len(forge.requests())
        with pytest.raises(ProviderRefusedError):
            await provider.apply(call)
        with pytest.raises(ProviderRefusedError):
            await provider.find(call)
        assert len(forge.requests()) == before


class ForgeSuite(ProviderSuite):
    """What the forges have in common beyond it."""

    async def test_a_repository_that_is_not_there_is_a_no(
        self, provider: Provider, effect: EffectKind
    ) -> None:
        call = desk.call(desk.params_of(effect, 1), "missing/beacon")
        for asked in (provider.apply, provider.find):
            with pytest.raises(ProviderRefusedError):
                await asked(call)

    @pytest.mark.parametrize(
        "target", ["", "harbor", "../beacon", "a/b?c", "a/..", "a/b c", "harbor/be\nacon"]
    )
    async def test_a_target_that_is_no_repository_is_refused_unsent(
        self, forge: ForgeProcess, provider: Provider, target: str
    ) -> None:
        before = len(forge.requests())
        call = desk.call(desk.pull(), target)
        for asked in (provider.apply, provider.find):
            with pytest.raises(ProviderRefusedError):
                await asked(call)
        assert len(forge.requests()) == before

    async def test_a_second_pull_request_of_a_pair_is_a_duplicate_and_the_first_is_found(
        self, provider: Provider
    ) -> None:
        target = desk.new_target()
        first = await provider.apply(desk.call(desk.pull(), target))
        again = desk.call(desk.pull(), target)
        with pytest.raises(DuplicateEffectError):
            await provider.apply(again)
        found = (await provider.find(again)).result
        assert found is not None
        assert found.identity == first.identity

    async def test_a_pull_request_of_another_pair_is_not_taken_for_it(self, provider: Provider) -> None:
        target = desk.new_target()
        await provider.apply(desk.call(desk.pull("other"), target))
        await provider.apply(desk.call(desk.pull(base="stable"), target))
        assert (await provider.find(desk.call(desk.pull(), target))).result is None

    async def test_a_closed_pull_request_of_somebody_else_is_not_ours(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        target = desk.new_target()
        other = await provider.apply(desk.call(desk.pull(), target))
        forge.change(target, int(other.identity), state="closed")
        ours = desk.call(desk.pull(), target)
        assert (await provider.find(ours)).result is None
        made = await provider.apply(ours)
        forge.change(target, int(made.identity), state="closed")
        found = (await provider.find(ours)).result
        assert found is not None
        assert found.identity == made.identity
        assert found.facts["stands"] == "closed"

    async def test_a_closed_pull_request_of_the_very_commit_without_a_marker_is_for_a_person(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        target = desk.new_target()
        other = await provider.apply(desk.call(desk.pull(), target))
        forge.change(target, int(other.identity), state="closed", body="written anew")
        call = desk.call(desk.pull(head_sha=desk.sha_of("beacon-count")), target)
        assert "closed unmerged" in ((await provider.find(call)).contradiction or "")

    async def test_a_pull_request_of_a_pushed_commit_is_made(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        head = "tenure/count#2"
        call = desk.call(desk.pull(head, head_sha=desk.sha_of(head)), desk.new_target())
        before = len(forge.requests())
        await provider.apply(call)
        assert [one["method"] for one in forge.requests()[before:]] == ["GET", "POST"]
        assert self.done(forge, call) == 1

    async def test_a_pull_request_of_another_commit_than_the_branch_is_at_is_refused_unsent(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        call = desk.call(desk.pull(head_sha="b" * 40), desk.new_target())
        with pytest.raises(ProviderRefusedError, match="push it first; nothing was done") as caught:
            await provider.apply(call)
        assert "b" * 12 in caught.value.message
        assert desk.sha_of("beacon-count")[:12] in caught.value.message
        assert self.done(forge, call) == 0

    async def test_a_pull_request_of_a_branch_that_is_not_there_is_refused_unsent(
        self, tmp_path: Path
    ) -> None:
        with running_forge(git=tmp_path) as forge:
            provider = self.made(forge.url)
            call = desk.call(desk.pull(head_sha="b" * 40), desk.new_target())
            with pytest.raises(ProviderRefusedError, match=r"no branch beacon-count.*push it first"):
                await provider.apply(call)
            await provider.close()
            assert forge.journal() == []

    @pytest.mark.parametrize("fault", ["error_before", "limit", "lose_answer", "page", "unreadable", "hang"])
    async def test_a_branch_that_cannot_be_asked_for_means_that_nothing_was_done(
        self, forge: ForgeProcess, provider: Provider, fault: str
    ) -> None:
        named = desk.pull(head_sha=desk.sha_of("beacon-count"))
        call = desk.call(named, desk.new_target(), deadline_s=deadline_s(fault))
        forge.fault("branch", fault, match=call.target.split("/")[1])
        with pytest.raises(UnavailableError):
            await provider.apply(call)
        assert self.done(forge, call) == 0

    async def test_only_the_newest_status_of_a_context_counts(self, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.STATUS)
        passed = msgspec.structs.replace(call.params, state="success")
        first = await provider.apply(call)
        other = msgspec.structs.replace(call.params, context="ci/other", state="success")
        await provider.apply(desk.call(other, call.target))
        assert (await provider.find(call)).result == first
        second = await provider.apply(desk.call(passed, call.target))
        assert (await provider.find(call)).result is None
        assert (await provider.find(desk.call(passed, call.target))).result == second
        again = desk.call(passed, call.target, not_these=(second.identity,))
        assert (await provider.find(again)).result is None

    async def test_only_the_last_marker_of_a_comment_counts(self, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.COMMENT)
        forged = msgspec.structs.replace(call.params, body=f"Seen.\n{call.marker}\nTurning.")
        other = desk.call(forged, call.target)
        made = await provider.apply(other)
        assert (await provider.find(call)).result is None
        assert (await provider.find(other)).result == made

    async def test_repositories_are_one_in_any_case_of_letters(self, provider: Provider) -> None:
        assert provider.capabilities.folds_case

    async def test_two_comments_with_one_marker_are_for_a_person(self, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.COMMENT)
        first = await provider.apply(call)
        second = await provider.apply(call)
        found = await provider.find(call)
        assert found.result is None
        assert first.identity in (found.contradiction or "")
        assert second.identity in (found.contradiction or "")

    async def test_results_of_other_effects_are_not_taken_for_this_one(self, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.COMMENT)
        first = await provider.apply(call)
        again = desk.call(call.params, call.target, effect_id=call.effect_id, not_these=(first.identity,))
        assert (await provider.find(again)).result is None
        second = await provider.apply(again)
        found = (await provider.find(again)).result
        assert found is not None
        assert found.identity == second.identity

    async def test_a_comment_among_many_is_found(self, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.COMMENT)
        for _ in range(60):
            await provider.apply(desk.call(call.params, call.target))
        made = await provider.apply(call)
        found = (await provider.find(call)).result
        assert found is not None
        assert found.identity == made.identity

    async def test_a_pull_request_that_moved_on_is_not_merged(
        self, forge: ForgeProcess, provider: Provider
    ) -> None:
        call = await self.new_call(provider, EffectKind.MERGE)
        number = int(getattr(call.params, "number", 0))
        forge.change(call.target, number, head_sha="b" * 40)
        with pytest.raises(ProviderRefusedError):
            await provider.apply(call)
        assert (await provider.find(call)).result is None
        forge.change(
            call.target, number, state="closed", merged_at="2026-03-02T10:02:44Z", merge_sha="c" * 40
        )
        assert "was merged at" in ((await provider.find(call)).contradiction or "")

    async def test_the_credential_is_in_no_error(self, forge: ForgeProcess, provider: Provider) -> None:
        call = await self.new_call(provider, EffectKind.COMMENT)
        for fault in ("error_before", "refuse", "limit", "lose_answer", "page", "redirect"):
            self.fault(forge, call, fault)
            with pytest.raises(TenureError) as caught:
                await provider.apply(call)
            assert desk.TOKEN not in told(caught.value)


def deadline_s(fault: str) -> float:
    """A short one where the fault is that it runs out."""
    return desk.SOON_S if fault in {"late", "hang", "hang_after"} else desk.DEADLINE_S


def told(error: BaseException) -> str:
    """All that an error and its causes say."""
    said = [str(error), repr(error), repr(getattr(error, "facts", ""))]
    return "\n".join([*said, told(error.__cause__)] if error.__cause__ else said)
