"""The runner's one loop: it waits for pipes, signals and messages, and does what is due.

Three clocks. The lease deadline is judged on the clock that runs through a suspend, on every wake, before any
message is answered; `poll` stands still in a suspend, so a wait ends after a second at most. Graces count on the
clock that stands still in a suspend. Time-outs count on that clock less the time during which the tree was paused.

At the deadline the tree is paused. Nothing but a renewal takes that back, whatever a clock says. A cancel that
comes during a pause waits in the harness as a pending signal; the ladder's last step, SIGKILL, does not wait.

A stop needs no daemon once it was asked for: the ladder is climbed here."""

import os

from tenure.node.runner.child import CONTROL_FD, PROTOCOL_FD, Origin, become, end_of
from tenure.node.runner.control import Control, Poller
from tenure.node.runner.ladder import LAST, NEVER, Ladder
from tenure.node.runner.process_tree import HAS_PROC, MARKER_VARIABLE, Tree
from tenure.node.runner.record import Log, Sleep, awake_s, boot_ns, new_outcome, record_outcome, stamp
from tenure.node.runner.request import understand
from tenure.node.runner.spool import Protocol, Spool

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any

    Json = dict[str, Any]
else:
    import _signal

TICK_S = 1.0
SAMPLE_COST = 200  # sampling takes at most one part in so many of the time; a machine may hold many runners
BUSY_SHARE = 0.05  # less CPU than this is an idle event loop, not progress
TELL_S = 0.2  # between two pushes of new protocol lines
OVER = ("canceled", "timed_out", "killed_stale", "runner_signal")


class Runner:
    """One execution. `outcome` is what will be recorded; it grows as things happen."""

    def __init__(self, launch: "Json", umask: int) -> None:
        self.launch, self.umask = launch, umask
        self.outcome = new_outcome(launch)
        self.step: Json = self.outcome["steps"][0]
        self.deadline_ns: int = launch["deadline_boottime_ns"]
        self.counter = 0
        self.poller = Poller()
        self.control = Control(self.poller, lambda request: understand(self, request), self.state)
        parent = launch["cgroup_parent"]
        self.tree = Tree(launch["marker"], parent and f"{parent}/tenure-{launch['marker']}", awake_s)
        self.ladder = Ladder(self.tree, self.outcome["stops"])
        self.protocol = Protocol(launch["limits"])
        self.agent_part: str = "" if launch.get("agent_part", ".") == "." else launch["agent_part"] + "/"
        self.spools: list[Spool] = []
        self.leader, self.wait_status = 0, None
        self.started = self.killed = False
        self.attempt_end = self.step_end = NEVER  # on the clock of worked_s
        self.paused_at: float | None = None
        self.paused_s = 0.0
        self.sampled, self.sampled_at, self.sample_at = (0, 0, 0, 0), awake_s(), 0.0
        self.changed_s = self.worked_s()
        self.told_lines, self.tell_at = 0, 0.0
        self.sleep = Sleep()
        self.log = Log()

    # -- the run

    def execute(self) -> None:
        """Runs the steps and records the outcome, whatever happens in between."""
        try:
            self.catch_signals()
            self.tree.own()
            self.run_steps()
            self.outlast()
        except Exception as error:  # noqa: BLE001 - whatever it was, the record must say so
            self.log.write(f"failed: {error!r}")
            self.outcome["unknown" if self.started else "never_started"] = f"runner failed: {error!r}"
        self.finish()

    def run_steps(self) -> None:
        if self.launch["boot_id"] != self.outcome["boot_id"]:
            self.outcome["never_started"] = "other boot"  # the deadline was told on another boot's clock
            return
        if boot_ns() >= self.deadline_ns:
            self.outcome["never_started"] = "deadline"
            return
        for number, spec in enumerate(self.launch["steps"]):
            self.step = self.outcome["steps"][number]
            while boot_ns() >= self.deadline_ns and not self.is_over():
                self.turn()  # nothing starts past the deadline
            if self.is_over():
                return
            self.start_step(number, spec)
            while self.leader:
                self.turn()
            self.end_step(number)
            if self.step["exit_code"] != 0:
                return

    def is_over(self) -> bool:
        return any(self.outcome[reason] for reason in OVER)

    def start_step(self, number: int, spec: "Json") -> None:
        """Forks the step's process. The deadline is armed already: the very next turn judges it."""
        has_protocol = spec["kind"] == "harness"
        env: dict[str, str] = spec["env"] | {MARKER_VARIABLE: self.launch["marker"]}
        listen = -1
        if spec.get("cancel_line"):
            listen = self.ladder.offer(spec["cancel_line"])
            env["TENURE_CONTROL_FD"] = str(CONTROL_FD)
        if has_protocol:
            env["TENURE_PROTOCOL_FD"] = str(PROTOCOL_FD)
            env["TENURE_PROTOCOL_FILE"] = f"{os.getcwd()}/{self.agent_part}protocol.{number}.file"
        self.step |= {"ran": True, **stamp("started")}
        self.wait_status: int | None = None
        self.exec_error = b""
        self.oom_kills_before = self.tree.oom_kills() or 0
        (out, out_end), (err, err_end), (lines, lines_end), (fail, fail_end) = [os.pipe() for _ in range(4)]
        origin = Origin(self.umask)
        pid = self.tree.fork()
        if pid == 0:
            outputs = [out_end, err_end, lines_end] if has_protocol else [out_end, err_end]
            become(spec, env, outputs, listen, fail_end, origin)
        self.leader, self.started = pid, True
        self.tree.holder = pid if spec.get("is_held") else 0
        for fd in (out_end, err_end, lines_end, fail_end, listen):
            if fd >= 0:
                os.close(fd)
        self.spools += [Spool(f"{name}.{number}", self.launch["limits"]) for name in ("stdout", "stderr")]
        self.pipes, self.lines_pipe = {out, err, lines, fail}, lines
        self.poller.pump(out, self.spools[-2].write)
        self.poller.pump(err, self.spools[-1].write)
        self.poller.pump(lines, self.protocol.feed)
        self.poller.pump(fail, self.on_exec_error)
        if self.attempt_end == NEVER and self.launch["timeout_s"] is not None:
            self.attempt_end = self.worked_s() + self.launch["timeout_s"]
        self.step_end = NEVER if spec["timeout_s"] is None else self.worked_s() + spec["timeout_s"]
        self.control.push("step")

    def on_exec_error(self, data: bytes) -> None:
        self.exec_error += data

    def end_step(self, number: int) -> None:
        """Reads what the step left in its pipes for a short grace, and completes its record."""
        self.step |= stamp("ended")
        self.step_end = NEVER
        self.ladder.withdraw()
        end = awake_s() + self.launch["drain_s"]
        while self.pipes & self.poller.handlers.keys() and awake_s() < end:
            self.turn(end - awake_s())
        if self.lines_pipe in self.pipes & self.poller.handlers.keys():
            # What a daemon that it left behind says now is no word of this turn.
            self.poller.forget(self.lines_pipe)
        self.protocol.end_line()
        self.protocol.read_file(f"{self.agent_part}protocol.{number}.file")
        self.judge_status(number)
        self.control.push("step")

    def judge_status(self, number: int) -> None:
        if self.exec_error:
            self.step["start_error"], _, text = self.exec_error.decode(errors="replace").partition(" ")
            self.step["start_error_text"] = text
            if number == 0:
                self.outcome["never_started"] = "exec failed"
        elif self.wait_status is None:
            self.outcome["unknown"] = self.outcome["unknown"] or "the wait status was lost"
        else:
            self.step["exit_code"], self.step["signal"] = end_of(
                self.wait_status, is_held=bool(self.tree.holder)
            )
        oom_kills = self.tree.oom_kills()
        if oom_kills is not None:  # else nobody can tell
            by_another = self.step["signal"] == _signal.SIGKILL and not self.killed
            self.step["oom_killed"] = by_another and oom_kills > self.oom_kills_before

    def finish(self, bound_s: float | None = None) -> bool:
        """Kills what is left of the tree, proves it gone, and records the outcome before the lock goes. False: it is not on disk."""
        if not self.started:
            self.outcome["never_started"] = self.outcome["never_started"] or "ended before its start"
        else:
            self.outcome["leftovers"] = 0 if self.killed else len(self.tree.members(deep=True))
            self.sample()
            self.kill_tree()
        for fd in self.poller.handlers.keys() - self.control.links.keys():
            self.poller.drain(fd)
        for number, spool in enumerate(self.spools):
            spool.sync()
            self.outcome["steps"][number // 2]["stderr_bytes" if number % 2 else "stdout_bytes"] = spool.bytes
            self.outcome["spool_lost_bytes"] += spool.lost_bytes
        last_word = self.protocol.last_word
        self.outcome |= stamp("ended")
        self.outcome |= {
            "paused_s": round(self.paused_s, 3),
            "suspended_s": self.sleep.total_s(),
            "cpu_ms": self.sampled[0],
            "counter": self.counter,
            "held_by": self.tree.held_by,
            "protocol_lines": self.protocol.lines,
            "protocol_dropped_lines": self.protocol.dropped_lines,
            "result_line": None if last_word is None else last_word.decode(errors="replace"),
        }
        is_recorded = record_outcome(self.outcome, self.log, bound_s)
        if is_recorded:
            self.control.push("ended")
        self.tree.remove_cgroup()
        self.control.close()
        return is_recorded

    # -- the loop

    def turn(self, longest_s: float = TICK_S) -> None:
        """One wait, then whatever is due."""
        ready = self.poller.wait(min(self.waits(longest_s)))
        self.reap()
        self.judge_deadline()
        for fd in ready:
            self.poller.serve(fd)
        self.judge_timers()

    def waits(self, longest_s: float) -> list[float]:
        now, worked = awake_s(), self.worked_s()
        waits = [longest_s, TICK_S, self.sample_at - now, self.ladder.next_at() - now]
        if self.protocol.lines != self.told_lines:
            waits.append(self.tell_at - now)
        # What is past already must not make the waits zero while its consequence takes its time.
        if self.can_pause():
            waits.append((self.deadline_ns - boot_ns()) / 1e9)
        if self.can_time_out():
            waits += [self.attempt_end - worked, self.step_end - worked]
        return waits

    def can_pause(self) -> bool:
        return self.started and not self.killed and self.paused_at is None

    def can_time_out(self) -> bool:
        return self.leader != 0 and not self.ladder.is_begun and self.paused_at is None

    def judge_deadline(self) -> None:
        if self.can_pause() and boot_ns() >= self.deadline_ns:
            self.paused_at = awake_s()
            if not self.tree.pause():
                self.log.write(
                    "some of the tree still ran when the time to pause it was over; it is tried again"
                )
            self.control.push("paused")

    def judge_timers(self) -> None:
        now, worked = awake_s(), self.worked_s()
        if self.can_time_out() and (worked >= self.attempt_end or worked >= self.step_end):
            self.outcome["timed_out"] = self.step["timed_out"] = True
        if self.leader and not self.ladder.is_begun and self.is_over():
            self.stop(self.launch["cancel_grace_s"])
        self.climb()
        if now >= self.sample_at:
            self.sample()
            if self.paused_at is not None:
                self.tree.pause()  # somebody outside may have continued one of them
            self.control.push("status")
        elif self.protocol.lines != self.told_lines and now >= self.tell_at:
            self.control.push("lines")
            self.told_lines, self.tell_at = self.protocol.lines, now + TELL_S

    def worked_s(self) -> float:
        """A clock that stands still in a suspend and while the tree is paused."""
        return (awake_s() if self.paused_at is None else self.paused_at) - self.paused_s

    def sample(self) -> None:
        """Takes the numbers that tell progress from silence; where a look is dear, the next one comes later."""
        begun, (cpu_ms, processes) = awake_s(), self.tree.usage()
        new = (max(cpu_ms, self.sampled[0]), processes, self.output_bytes(), self.protocol.lines)
        idle_ms = (begun - self.sampled_at) * 1000 * BUSY_SHARE
        if new[1:] != self.sampled[1:] or new[0] - self.sampled[0] > idle_ms:
            self.changed_s = self.worked_s()
        self.sampled, self.sampled_at = new, begun
        self.sample_at = awake_s() + max(self.launch["sample_s"], SAMPLE_COST * (awake_s() - begun))

    def output_bytes(self) -> int:
        return sum(spool.bytes for spool in self.spools)

    # -- ending

    def reap(self) -> None:
        """Collects the dead: the leader, and orphans of the tree that have become ours."""
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self.leader:
                    self.leader, self.wait_status = 0, found[1]
        except ChildProcessError:
            self.leader = 0  # if nobody saw it end, its wait status stays None: unknown

    def stop(self, grace_s: float) -> None:
        self.ladder.begin(grace_s, awake_s())
        self.climb()

    def climb(self) -> None:
        """Takes the steps of a stop that are due."""
        step = self.ladder.climb(awake_s(), self.leader)
        if step is not None and self.leader:
            self.outcome["ended_by"] = step
        if step == LAST:
            self.kill_tree()

    def outlast(self) -> None:
        """What the program of a stopped run has left goes on down the ladder: it was asked to end, too."""
        deep = self.tree.held_by == "marker"
        while self.ladder.is_begun and not self.killed and self.tree.members(deep=deep):
            self.turn()

    def kill_tree(self) -> None:
        """Kills the tree and proves it gone. After a bound it says how many are left and waits no longer."""
        if self.leader:
            self.outcome["ended_by"] = LAST
        self.killed = True
        self.ladder.due.clear()
        survivors = self.tree.kill(self.reap)
        self.outcome["survivors"] = survivors
        self.outcome["tree_gone"] = survivors == 0 if HAS_PROC else None
        self.end_pause()
        if self.leader:
            self.leader, self.outcome["unknown"] = 0, "the process survived SIGKILL"

    def end_pause(self) -> None:
        if self.paused_at is not None:
            self.paused_s += awake_s() - self.paused_at
            self.paused_at = None

    def catch_signals(self) -> None:
        """A signal ends a wait. SIGTERM stops the run in an orderly way; nobody's terminal or session ends it."""
        for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTSTP):
            _signal.signal(number, _signal.SIG_IGN)
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        _signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, self.on_signal)
        _signal.signal(_signal.SIGTERM, self.on_signal)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        self.poller.pump(read_end, len)

    def on_signal(self, number: int, _frame: object) -> None:
        """Wakes the loop, by being caught at all."""
        if number == _signal.SIGTERM:
            self.outcome["runner_signal"] = number

    # -- messages

    def renew(self, fence: int, deadline_ns: int, counter: int) -> str | None:
        if fence != self.launch["fence"]:
            return "wrong_fence"
        if counter <= self.counter:
            return "old_counter"
        self.deadline_ns, self.counter = deadline_ns, counter
        if self.paused_at is not None and boot_ns() < deadline_ns:
            self.end_pause()
            self.tree.resume()
            self.control.push("resumed")
        return None

    def cancel(self, grace_s: float = 0) -> None:
        self.outcome["canceled"] = True
        if grace_s:
            self.stop(grace_s)
        else:
            self.ladder.note(LAST)
            self.kill_tree()

    def lose(self, fence: int) -> str | None:
        """The fence is stale: this execution has no owner any more."""
        if fence != self.launch["fence"]:
            return "wrong_fence"
        self.outcome["killed_stale"] = True
        self.ladder.note(LAST)
        self.kill_tree()
        return None

    def state(self) -> "Json":
        going = "stopping" if self.killed or self.ladder.is_begun else "running"
        return {
            "state": going if self.paused_at is None else "paused",
            "step": self.step["name"],
            "pid": self.leader or None,
            "deadline_boottime_ns": self.deadline_ns,
            "counter": self.counter,
            "output_bytes": self.output_bytes(),
            "protocol_lines": self.protocol.lines,
            "cpu_ms": self.sampled[0],
            "processes": self.sampled[1],
            "quiet_s": round(self.worked_s() - self.changed_s, 3),
            "paused_s": round(awake_s() - self.worked_s(), 3),
        }
