"""Finding, pausing and killing every process that came out of an Attempt, wherever it has put itself.

Agents start their tools in sessions of their own and leave daemons behind, so neither the parent nor the process
group is enough. A process belongs to the tree if one of these says so:

- it is in the Attempt's cgroup v2, in which the first one was born;
- it descends from the root: the runner is a subreaper, so an orphan becomes its child and the links never break;
- it carries the Attempt's marker in its environment. That is all there is when the runner is dead and there is no
  cgroup; what has cleared its environment, or may not be read, then escapes (`suspects` counts who it may be).

A pid alone is never acted upon: a process is (pid, start time), and a signal goes through a pidfd that was opened
before the start time was compared, so a recycled pid is never hit. Pause and kill repeat until two passes agree,
because a tree can fork while it is walked; a cgroup is frozen and killed by the kernel in one step.

Standard library only, because the runner is started without anything else. Where there is no /proc a process group
is all there is and nothing is proven.
"""

import os
import select
import sys

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
else:
    import _signal

MARKER_VARIABLE = "TENURE_ATTEMPT_MARKER"
PAUSE_BOUND_S = 2.0
KILL_BOUND_S = 10.0  # a process in an uninterruptible wait does not die; then the number that is left is told
ENVIRONMENT_BYTES = 4 << 20  # more than Linux gives one program by default
PIDS_BYTES = 1 << 20
LOOK_AGAIN_S = 0.1
HAS_PROC = os.access("/proc/self/stat", os.R_OK)
CLONE3 = 435  # the same number on all architectures that matter
CLONE_INTO_CGROUP = 1 << 33
PR_SET_CHILD_SUBREAPER = 36


class Process:
    """One row of /proc: `start` and `cpu` in clock ticks."""

    __slots__ = ("cpu", "parent", "pid", "start", "state")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The name before the last bracket may hold anything, brackets and blanks included.
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.state, self.parent, self.start = fields[0].decode(), int(fields[1]), int(fields[19])
        self.cpu = sum(int(field) for field in fields[11:15])
        if self.state == "Z" and int(fields[17]) > 1:
            self.state = "R"  # only its first thread has ended


class Tree:
    """The processes of one Attempt. `own` makes the calling process their root; a sweep works without."""

    def __init__(self, marker: str, cgroup: str | None, awake_s: "Callable[[], float]") -> None:
        """`cgroup` is the folder to be made for this Attempt; `awake_s` a clock for the bounds."""
        self.marker = f"\0{MARKER_VARIABLE}={marker}\0".encode()
        self.cgroup = cgroup if cgroup and os.path.isdir(cgroup) else None
        self.wanted_cgroup = cgroup
        self.awake_s = awake_s
        self.root = 0
        self.holder = 0
        self.held_by = "marker"
        self.groups: list[int] = []
        self.stopped: dict[tuple[int, int], None] = {}

    def own(self) -> None:
        """Makes this process the root and subreaper, and makes the cgroup. What cannot be had is done without."""
        self.root = os.getpid()
        if call_c("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
            self.held_by = "subreaper"
        if self.wanted_cgroup:
            try:
                os.mkdir(self.wanted_cgroup)
                self.cgroup = self.wanted_cgroup
            except OSError:
                self.cgroup = None

    def fork(self) -> int:
        """As os.fork, but the child is born in the cgroup: to move it there takes some 10 ms (an RCU period)."""
        if self.cgroup:
            folder = os.open(self.cgroup, os.O_RDONLY | os.O_DIRECTORY)
            values = (CLONE_INTO_CGROUP, 0, 0, 0, int(_signal.SIGCHLD), 0, 0, 0, 0, 0, folder)
            record = b"".join(value.to_bytes(8, sys.byteorder) for value in values)
            pid = call_c("syscall", CLONE3, record, len(record))
            if pid == 0:
                return 0
            os.close(folder)
            if pid > 0:
                self.held_by = "cgroup"
                return pid
            self.remove_cgroup()
            self.cgroup = None
        pid = os.fork()
        if pid and not HAS_PROC:
            self.groups.append(pid)
            self.held_by = "group"
        return pid

    # -- finding

    def members(self, *, deep: bool = False) -> list[Process]:
        """The living ones, parents before children.

        `deep` also reads every environment on the machine, unless the tree was born in its cgroup.
        """
        table = read_processes()
        children: dict[int, list[int]] = {}
        for process in table.values():
            children.setdefault(process.parent, []).append(process.pid)
        # Without a root nothing may hang on pid 0, which is the parent of pid 1.
        queue = (children.get(self.root, []) if self.root else []) + self.cgroup_pids()
        if deep and self.held_by != "cgroup":
            queue += [pid for pid in table if self.marker in b"\0" + read_environment(pid)]
        found: dict[int, Process] = {}
        for pid in queue:
            if pid in table and pid not in found and pid not in {1, os.getpid()}:
                found[pid] = table[pid]
                queue += children.get(pid, [])
        return [process for process in found.values() if process.state not in "ZX"]

    def cgroup_pids(self) -> list[int]:
        """The pids in the cgroup and below it: a harness may divide its own."""
        pids: list[int] = []
        for folder in self.cgroup_folders():
            pids += [int(pid) for pid in read_file(f"{folder}/cgroup.procs", PIDS_BYTES).split()]
        return pids

    def cgroup_folders(self) -> list[str]:
        folders = [self.cgroup] if self.cgroup else []
        for folder in folders:
            try:
                folders += [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue  # it was removed meanwhile
        return folders

    def suspects(self, since_ticks: int) -> int:
        """How many orphans born since then hide their environment: any of them may be ours.

        Only those of our own user count (another user's are not ours unless the steps ran as that user, and then
        there is a cgroup), and only orphans: who has a living parent outside the tree was not started by it. Two
        looks must agree, since a process that is just being executed has no environment for a moment.
        """
        first = self.hidden(since_ticks)
        if first:
            wait_s(LOOK_AGAIN_S)
            first &= self.hidden(since_ticks)
        return len(first)

    def hidden(self, since_ticks: int) -> set[tuple[int, int]]:
        orphans = [
            process
            for process in read_processes().values()
            if process.start >= since_ticks and process.state not in "ZX" and is_reaper(process.parent)
        ]
        own = [process for process in orphans if owner_of(process.pid) == os.getuid()]
        return {(process.pid, process.start) for process in own if not read_environment(process.pid)}

    def is_empty(self) -> bool:
        """Whether two walks agree that nobody is there."""
        return not any(self.members(deep=True) or self.is_populated() for _ in range(2))

    def is_populated(self) -> bool:
        return b"populated 1" in self.read_cgroup("cgroup.events")

    # -- acting

    def ask(self, number: int, leader: int) -> None:
        """Sends everybody a signal that can be refused, but for the holder of a PID namespace: its end would kill all in it
        at once. `leader`: the program or its holder, not reaped yet, or 0; where it is all there is, it is the one."""
        for process in self.members():
            if process.pid != self.holder:
                send_signal(process, number)
        self.signal_groups(number)
        if leader and leader == self.holder and self.held_program() is None:
            os.kill(leader, number)

    def held_program(self) -> Process | None:
        """The first that the namespace's own init has started; None before there is one."""
        table = read_processes()
        init = first_child(table, self.holder)
        return first_child(table, init.pid) if init else None

    def signal_groups(self, number: int) -> None:
        for group in self.groups:
            try:
                os.killpg(group, number)
            except OSError:
                continue

    def pause(self) -> bool:
        """Freezes the cgroup and stops who is outside it, parents first; False if some still ran at the bound."""
        self.write_cgroup("cgroup.freeze", b"1")
        self.signal_groups(_signal.SIGSTOP)
        end, quiet = self.awake_s() + PAUSE_BOUND_S, 0
        while quiet < 2:
            inside = set(self.cgroup_pids())
            outside = [p for p in self.members(deep=self.held_by == "marker") if p.pid not in inside]
            running = [process for process in outside if self.runs(process)]
            for process in running:
                self.stopped[process.pid, process.start] = None
                send_signal(process, _signal.SIGSTOP)
            frozen = not inside or b"frozen 1" in self.read_cgroup("cgroup.events")
            quiet = 0 if running or not frozen else quiet + 1
            if self.awake_s() > end:
                return False
            wait_s(0 if quiet else 0.002)
        return True

    def runs(self, process: Process) -> bool:
        """Whether it may still execute: who was sent SIGSTOP and waits in the kernel or for a tracer does not."""
        waits = process.state in "tD" and (process.pid, process.start) in self.stopped
        return process.state != "T" and not waits

    def resume(self) -> None:
        """Continues those that `pause` stopped, children first: a shell must not find its job stopped."""
        self.signal_groups(_signal.SIGCONT)
        table = read_processes()
        for pid, start in reversed(self.stopped):
            if (process := table.get(pid)) and process.start == start:
                send_signal(process, _signal.SIGCONT)
        self.stopped.clear()
        self.write_cgroup("cgroup.freeze", b"0")

    def kill(self, reap: "Callable[[], None] | None" = None) -> int:
        """Kills until two passes find nobody, and returns 0; at the bound, how many are left.

        `reap` is called in each pass to collect the dead among the caller's own children.
        """
        end, empty = self.awake_s() + KILL_BOUND_S, 0
        while empty < 2:
            self.write_cgroup("cgroup.kill", b"1")
            self.signal_groups(_signal.SIGKILL)
            if reap:
                reap()
            left = self.members() or self.members(deep=True)
            for process in left:
                send_signal(process, _signal.SIGKILL)
            empty = 0 if left or self.is_populated() else empty + 1
            if self.awake_s() > end:
                return max(1, len(left))
            wait_s(0 if empty else 0.002)
        self.groups.clear()
        return 0

    # -- measuring

    def usage(self) -> tuple[int, int]:
        """The tree's CPU time so far in milliseconds, the dead included, and the number of its processes."""
        spent_us = find_count(self.read_cgroup("cpu.stat"), b"usage_usec")
        if spent_us is not None:
            return spent_us // 1000, len(self.cgroup_pids())
        members, dead = self.members(), os.times()
        spent_s = sum(process.cpu for process in members) / os.sysconf("SC_CLK_TCK")
        return int((spent_s + dead.children_user + dead.children_system) * 1000), len(members)

    def oom_kills(self) -> int | None:
        """Kills by the kernel for want of memory; None where it does not count them for this tree alone."""
        return find_count(self.read_cgroup("memory.events"), b"oom_kill")

    # -- the cgroup's files

    def read_cgroup(self, name: str) -> bytes:
        return read_file(f"{self.cgroup}/{name}") if self.cgroup else b""

    def write_cgroup(self, name: str, data: bytes) -> None:
        """An old kernel lacks some of these files; then the walk alone must do."""
        if self.cgroup:
            try:
                fd = os.open(f"{self.cgroup}/{name}", os.O_WRONLY)
            except OSError:
                return
            try:
                os.write(fd, data)
            except OSError:
                pass
            finally:
                os.close(fd)

    def remove_cgroup(self) -> None:
        """Removes the empty cgroup; one that is not empty stays, and a sweep may still use it."""
        for folder in reversed(self.cgroup_folders()):
            try:
                os.rmdir(folder)
            except OSError:
                return


def read_processes() -> dict[int, Process]:
    """Every process that can be seen, the dead that nobody has reaped included."""
    table: dict[int, Process] = {}
    for name in os.listdir("/proc") if HAS_PROC else ():
        if name.isdigit() and (stat := read_file(f"/proc/{name}/stat")):
            table[int(name)] = Process(int(name), stat)
    return table


def first_child(table: dict[int, Process], parent: int) -> Process | None:
    children = [process for process in table.values() if process.parent == parent]
    return min(children, key=lambda process: (process.start, process.pid), default=None)


def send_signal(process: Process, number: int) -> None:
    """Sends a signal to exactly this process, or to nobody."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except OSError:
        fd = -1  # an old kernel: what remains is to compare and signal within microseconds
    try:
        stat = read_file(f"/proc/{process.pid}/stat")
        if not stat or Process(process.pid, stat).start != process.start:
            return
        if fd < 0:
            os.kill(process.pid, number)
        else:
            _signal.pidfd_send_signal(fd, number)
    except OSError:
        return  # it has died, or may not be signaled by us
    finally:
        if fd >= 0:
            os.close(fd)


def read_file(path: str, limit: int = 65_536) -> bytes:
    """At most `limit` bytes; nothing when it cannot be read, which for /proc means: gone or not ours."""
    data = b""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return data
    try:
        while len(data) < limit and (chunk := os.read(fd, limit - len(data))):
            data += chunk
    except OSError:
        pass
    finally:
        os.close(fd)
    return data


def read_environment(pid: int) -> bytes:
    return read_file(f"/proc/{pid}/environ", ENVIRONMENT_BYTES)


def owner_of(pid: int) -> int | None:
    """The real user. The owner of /proc/PID itself will not do: it is root's for a program that hides."""
    return find_count(read_file(f"/proc/{pid}/status"), b"Uid:")


def is_reaper(pid: int) -> bool:
    """Whether orphans end up there: init, or the service manager of a user's session."""
    return pid == 1 or read_file(f"/proc/{pid}/comm").strip() in {b"systemd", b"init"}


def find_count(text: bytes, name: bytes) -> int | None:
    """The number behind a name, in the form that cgroup files and /proc/PID/status have."""
    for line in text.splitlines():
        if line.startswith(name) and line[len(name) : len(name) + 1].isspace():
            return int(line.split()[1])
    return None


def wait_s(seconds: float) -> None:
    """A short wait; the caller's bound is on its own clock."""
    if seconds:
        select.poll().poll(seconds * 1000)


def call_c(name: str, *arguments: "int | bytes") -> int:
    """Calls a C function without the time it takes to import `ctypes`; -1 where that is not possible."""
    try:
        import _ctypes  # not every build of Python has it

        library = _ctypes.dlopen(None, os.RTLD_NOW)  # pyright: ignore[reportArgumentType] - None is this program
        return int(_ctypes.call_function(_ctypes.dlsym(library, name), arguments))
    except (ImportError, OSError):
        return -1
