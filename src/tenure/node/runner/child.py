"""From the runner's child to the step's program: what happens between fork and exec.

Standard library only.
"""

import errno
import fcntl
import os

from tenure.node.runner.process_tree import call_c

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any, NoReturn

    Json = dict[str, Any]
else:
    import _signal

PROTOCOL_FD = 3
CONTROL_FD = 4
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1
HELD_DEATH = 128
SIGNALS = 64


class Origin:
    """What the child must know of where it comes from."""

    def __init__(self, umask: int) -> None:
        """`umask`: with which the runner was started; its own is stricter."""
        self.runner_pid, self.umask = os.getpid(), umask


def become(
    spec: "Json", env: "dict[str, str]", outputs: list[int], listen: int, fail: int, origin: Origin
) -> "NoReturn":
    """The child's way to its program. What goes wrong is told through `fail`, which the exec closes. `listen`: where it
    hears of a cancel, or -1."""
    try:
        fail = fcntl.fcntl(fail, fcntl.F_DUPFD_CLOEXEC, 10)
        # Above what is given out below, as it may have one of those numbers now.
        told = [] if listen < 0 else [fcntl.fcntl(listen, fcntl.F_DUPFD_CLOEXEC, 10)]
        os.setsid()
        stdin = os.open(spec["stdin_path"] or os.devnull, os.O_RDONLY)
        if spec.get("run_as") or spec.get("is_held"):
            leave_keys()
        if spec.get("run_as"):
            take_user(spec["run_as"], outputs + told)
        # After the change of user, which takes it back.
        call_c("prctl", PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0)
        if os.getppid() != origin.runner_pid:
            os._exit(127)  # the runner has died: nobody would enforce the deadline
        os.dup2(stdin, 0)
        for number, fd in enumerate(outputs, start=1):
            os.dup2(fd, number)
        for fd in told:
            os.dup2(fd, CONTROL_FD)
        for number in set(range(1, 32)) - {_signal.SIGKILL, _signal.SIGSTOP}:
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        os.umask(origin.umask)
        os.chdir(spec["cwd"])
        execute_program(spec["argv"], env)
    except BaseException as error:  # noqa: BLE001 - nothing of the runner may run on in the child
        number = error.errno if isinstance(error, OSError) else None
        name = errno.errorcode.get(number or 0, type(error).__name__)
        os.write(fail, f"{name} {error}".encode(errors="replace"))
    os._exit(127)


def leave_keys() -> None:
    """Takes an empty session keyring: the kernel's keys of the node's session would be handed down to any user and any
    namespace. Where there are no keyrings (a container forbids them, another kind of machine) there is nothing to leave."""
    number = KEYCTL.get(os.uname().machine)
    if number is not None:
        call_c("syscall", number, KEYCTL_JOIN_SESSION_KEYRING, 0)


def take_user(user: "Json", outputs: list[int]) -> None:
    """Becomes another user for good: no set-user-ID program (sudo, su) gives anything back.

    Raises:
        PermissionError: this process has no right to.
    """
    for fd in outputs:
        os.fchown(fd, user["uid"], user["gid"])  # else /dev/stdout cannot be opened by its name
    os.setgroups(user["groups"])
    os.setresgid(user["gid"], user["gid"], user["gid"])
    os.setresuid(user["uid"], user["uid"], user["uid"])
    if call_c("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise PermissionError(errno.EPERM, "set-user-ID programs cannot be forbidden")


def execute_program(argv: list[str], env: "dict[str, str]") -> "NoReturn":
    """As a shell finds it: by PATH of the new environment when there is no slash in its name.

    Raises:
        OSError: it is not there or cannot be executed.
    """
    if "/" in argv[0]:
        os.execve(argv[0], argv, env)
    denied: OSError | None = None
    for folder in env.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{folder or '.'}/{argv[0]}", argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            denied = denied or error
    raise denied or FileNotFoundError(errno.ENOENT, "no such program on PATH", argv[0])


def end_of(status: int, *, is_held: bool) -> "tuple[int | None, int | None]":
    """Exit code and signal of a wait status; what holds a program tells of its death by signal as a shell does."""
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    code = os.WEXITSTATUS(status)
    if is_held and HELD_DEATH < code <= HELD_DEATH + SIGNALS:
        return None, code - HELD_DEATH
    return code, None
