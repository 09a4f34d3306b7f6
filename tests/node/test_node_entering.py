"""The first words to the hub: enrolling, being told to stop, and coming back."""

import asyncio
import shutil
from itertools import count
from pathlib import Path

import pytest

from tenure.core import commands as cm
from tenure.core.ids import IncarnationId
from tenure.core.recipient import Node
from tenure.errors import ContractVersionError, DataFolderBusyError, NameTakenError, UnavailableError
from tenure.node.delivery.entering import Patience
from tenure.wire.legs import EnrollReply, EnrollRequest
from tests.node.fake_hub import FakeLegs
from tests.node.fake_runners import Program
from tests.node.node_lab import Lab, error_code, pause, until


def nodes(lab: Lab) -> list[Node]:
    return list(lab.hub.lab.world.every(Node))


def test_a_new_node_enrolls_with_a_join_token_and_later_with_its_own_credential(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        lab.join_token = None
        await lab.restart()
        (node,) = nodes(lab)
        first, second = lab.hub.legs_heard("enroll")
        assert first.credential == second.credential
        assert first.incarnation != second.incarnation
        assert node.incarnation == second.incarnation

    Lab(tmp_path).play(scenario)


def test_an_enrolment_whose_reply_was_lost_is_the_same_node(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.lose_replies["enroll"] = 3
        await lab.up()
        assert len(nodes(lab)) == 1

    Lab(tmp_path).play(scenario)


def test_an_enrolment_that_died_before_its_reply_is_the_same_node(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.delays["enroll"] = 1.0
        lab.hub.lose_replies["enroll"] = 1
        lab.boot()
        await pause(1.1)
        await lab.kill()
        assert len(nodes(lab)) == 1
        lab.join_token = None
        await lab.up()
        assert len(nodes(lab)) == 1

    Lab(tmp_path).play(scenario)


def test_without_a_join_token_a_new_node_is_told_what_it_needs(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.join_token = None
        lab.boot()
        error = await lab.ends_with()
        assert error_code(error) == "unauthenticated"
        assert "tenure enroll" in str(error)

    Lab(tmp_path).play(scenario)


def test_a_node_that_was_forgotten_enrolls_anew_under_another_credential(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        (node,) = nodes(lab)
        await lab.kill()
        lab.hub.run(cm.ForgetNode(node.node_id, "ann", "it was sold"))
        token, lab.join_token = lab.join_token, None
        lab.boot()
        assert error_code(await lab.ends_with()) == "unauthenticated"
        lab.join_token = token
        await lab.up()
        old, new = nodes(lab)
        assert old.revoked
        assert new.credential_digest != old.credential_digest
        assert await lab.verdict(lab.hub.submit()) == "completed"

    Lab(tmp_path).play(scenario)


def test_a_start_from_an_older_copy_of_the_folder_is_known_as_one_and_a_person_is_asked(
    tmp_path: Path,
) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.kill()
        shutil.copytree(lab.home, tmp_path / "copy")
        for _ in range(3):
            await lab.up()
            await lab.kill()
        shutil.rmtree(lab.home)
        shutil.copytree(tmp_path / "copy", lab.home)
        lab.boot()
        error = await lab.ends_with()
        assert error_code(error) == "conflict"
        assert "quarantined" in str(error)
        assert [one.generation for one in lab.hub.legs_heard("enroll")] == [1, 2, 3, 4, 2, 4]
        (node,) = nodes(lab)
        assert node.quarantined
        lab.hub.run(cm.ReleaseNode(node.node_id, "ann", "there is one machine"))
        await lab.up()
        assert await lab.verdict(lab.hub.submit()) == "completed"

    Lab(tmp_path / "home").play(scenario)


class Overtaking(FakeLegs):
    """Each time before this node says its first words, a copy of it has started."""

    starts = count(50)

    async def enroll(self, request: EnrollRequest, token: str) -> EnrollReply:
        (node,) = self.hub.lab.world.every(Node)
        who = IncarnationId(self.hub.lab.fresh("i"))
        copy = cm.StartNode(
            node.node_id, who, request.boot_id, 1, "linux", "1", (), generation=next(self.starts)
        )
        self.hub.run(copy)
        return await super().enroll(request, token)


def test_a_start_that_is_overtaken_once_more_while_it_says_its_words_again_ends(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.kill()
        lab.legs_of = Overtaking
        lab.boot()
        assert error_code(await lab.ends_with()) == "superseded"
        assert [one.generation for one in lab.hub.legs_heard("enroll")] == [1, 2, 50]

    Lab(tmp_path).play(scenario)


def test_a_hub_that_is_away_at_the_start_is_waited_for_while_runs_go_on(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=20.0)
        await lab.up()
        task_id, delivery_id = await lab.running()
        await lab.kill()
        lab.hub.is_away = True
        lab.boot()
        await pause(60.0)
        # It ended meanwhile, and was judged; the report waits.
        assert lab.runners.runs[delivery_id].outcome is not None
        lab.hub.is_away = False
        assert await lab.verdict(task_id) == "completed"

    Lab(tmp_path).play(scenario)


@pytest.mark.parametrize("patience", [Patience(new_s=30.0), Patience(30.0, 30.0)])
def test_a_node_that_was_never_enrolled_does_not_wait_for_ever(tmp_path: Path, patience: Patience) -> None:
    async def scenario(lab: Lab) -> None:
        lab.patience, lab.hub.is_away = patience, True
        lab.boot()
        began = asyncio.get_running_loop().time()
        error = await lab.ends_with()
        assert error_code(error) == "unavailable"
        assert "no hub has let this node in within 30 s: " in str(error)
        assert asyncio.get_running_loop().time() - began < 35.0

    Lab(tmp_path).play(scenario)


def test_a_first_enrolment_whose_answer_may_be_lost_is_not_said_to_be_nothing(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.patience, lab.hub.lose_replies["enroll"] = Patience(new_s=30.0), 1000
        lab.boot()
        assert error_code(await lab.ends_with()) == "outcome_unknown"

    Lab(tmp_path).play(scenario)


def test_a_node_that_was_enrolled_waits_unless_it_is_only_to_enrol(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.kill()
        lab.patience, lab.hub.is_away = Patience(new_s=30.0), True
        working = lab.boot()
        await pause(600.0)
        lab.hub.is_away = False
        await until(lambda: bool(lab.ready) and lab.daemon is working)
        await lab.kill()
        lab.patience, lab.hub.is_away = Patience(30.0, 30.0), True
        lab.boot()
        assert error_code(await lab.ends_with()) == "unavailable"

    Lab(tmp_path).play(scenario)


def test_a_hub_that_is_not_trusted_is_asked_once_by_a_new_node(tmp_path: Path) -> None:
    refused = UnavailableError("its certificate is not trusted here", handshake="refused")

    async def scenario(lab: Lab) -> None:
        lab.patience, lab.hub.refuse["enroll"] = Patience(new_s=30.0), refused
        lab.boot()
        assert await lab.ends_with() is refused

    Lab(tmp_path).play(scenario)


def test_a_superseded_daemon_kills_what_it_runs_and_ends(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        _, delivery_id = await lab.running()
        (node,) = nodes(lab)
        lab.hub.run(cm.StartNode(node.node_id, IncarnationId("i_clone"), "boot9", 1, "linux", "1", ()))
        assert error_code(await lab.ends_with()) == "superseded"
        await until(lambda: not lab.runners.alive())
        assert lab.runners.runs[delivery_id].stale

    Lab(tmp_path).play(scenario)


def test_a_quarantined_node_says_so_and_ends_and_leaves_its_runs_to_their_deadline(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        _, delivery_id = await lab.running()
        await lab.kill()
        (node,) = nodes(lab)
        lab.hub.run(cm.StartNode(node.node_id, IncarnationId("i_clone"), "boot9", 1, "linux", "1", ()))
        lab.boot()
        error = await lab.ends_with()
        assert error_code(error) == "conflict"
        assert "quarantined" in str(error)
        assert lab.runners.alive() == [delivery_id]
        assert not lab.runners.runs[delivery_id].stale

    Lab(tmp_path).play(scenario)


@pytest.mark.parametrize("error", [ContractVersionError("upgrade"), NameTakenError("another has it")])
def test_a_hub_that_will_not_have_this_node_ends_the_daemon_with_its_reason(
    tmp_path: Path, error: Exception
) -> None:
    async def scenario(lab: Lab) -> None:
        lab.hub.refuse["enroll"] = error  # type: ignore[assignment] - a fake stands for it
        lab.boot()
        assert await lab.ends_with() is error

    Lab(tmp_path).play(scenario)


def test_a_contract_that_ends_in_the_middle_ends_the_daemon_and_not_its_runs(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=500.0)
        await lab.up()
        await lab.running()
        lab.hub.refuse["renew"] = ContractVersionError("upgrade")
        assert error_code(await lab.ends_with()) == "contract_version"
        assert len(lab.runners.alive()) == 1

    Lab(tmp_path).play(scenario)


def test_two_daemons_on_one_store_do_not_run_beside_each_other(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        first = lab.working
        lab.boot()
        error = await lab.ends_with()
        assert isinstance(error, DataFolderBusyError)
        lab.working = first

    Lab(tmp_path).play(scenario)


def test_a_daemon_that_is_asked_to_stop_returns_and_leaves_its_runs_alone(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=30.0)
        await lab.up()
        task_id, _ = await lab.running()
        assert lab.daemon is not None
        lab.daemon.stop()
        assert await lab.ends_with() is None
        assert len(lab.runners.alive()) == 1
        await lab.up()
        assert await lab.verdict(task_id) == "completed"

    Lab(tmp_path).play(scenario)
