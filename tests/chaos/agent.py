"""The program that the nodes run: an agent by script. Standard library only, started by path with `-S -E`.

`agent.py WITNESS SCRIPT`, SCRIPT being JSON: `{"op": NAME, "tenure": PATH, "attempts": [PLAN, …]}`; attempt N takes plan N,
or the last. A plan is a list of steps, `[WHAT, …]`:

- `work S`: be busy for so long, with a progress message now and then
- `effect KIND`: have it done, asking again until it is or one is told to stop
- `push`: commit a file and push it to the hub's git endpoint
- `fork S`: leave a grandchild in a session of its own behind
- `deaf`: pass over SIGINT and SIGTERM
- `say OBJECT`: a line of the harness protocol
- `exit CODE`, `die`: end

It writes into WITNESS, line by line and synced, when it began, what it was told about its effects, what it is about to say of
its end. This is what really happened on the machine, whatever Tenure says."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

STOP = ("stale_fence", "canceled", "unauthenticated", "out_of_scope", "not_found")
WAIT_S = 3.0
PATIENCE_S = 25.0
PAUSE = threading.Event()


def mark(what: str, **more: object) -> None:
    line = {
        "mark": what,
        "op": SCRIPT["op"],
        "task": os.environ.get("TENURE_TASK"),
        "attempt": int(os.environ.get("TENURE_ATTEMPT", "0")),
        "delivery": os.environ.get("TENURE_DELIVERY"),
        "fence": int(os.environ.get("TENURE_FENCE", "0")),
        "machine": os.environ.get("CHAOS_MACHINE"),
        "pid": os.getpid(),
        "at_ns": time.monotonic_ns(),
        **more,
    }
    with Path(sys.argv[1]).open("ab", buffering=0) as file:
        # A line that a kill has torn must not be glued to this one.
        file.write(b"\n" + json.dumps(line).encode() + b"\n")
        os.fsync(file.fileno())


def say(message: dict[str, object]) -> None:
    os.write(int(os.environ["TENURE_PROTOCOL_FD"]), json.dumps(message).encode() + b"\n")


def work(seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        say({"type": "progress", "message": f"{left:.1f} s left"})
        PAUSE.wait(min(left, 1.0))


def effect(kind: str) -> None:
    """Ask until it is done; end the turn when told to."""
    asked = {
        "kind": kind,
        "target": "hook:" if kind == "http" else "forge:quay/lamp",
        "params": params(kind, SCRIPT["op"]),
        "wait_s": WAIT_S,
    }
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        answer = ask(asked)
        mark("effect", kind=kind, answer=answer)
        if answer == "confirmed":
            return
        if answer in STOP:
            sys.exit(3)
        PAUSE.wait(0.3)
    mark("end", word="failed")
    say(
        {
            "type": "result",
            "verdict": "failed",
            "class": "capacity",
            "summary": f"{kind} is not done yet",
            "retry_after_s": 1,
        }
    )
    sys.exit(1)


def params(kind: str, op: str) -> dict[str, object]:
    number = int(op.rpartition("-")[2])
    if kind == "comment":
        return {"number": number + 1, "body": f"this is {op}"}
    if kind == "pull_request":
        return {"head": f"tenure/{op}", "base": "main", "title": f"change of {op}"}
    if kind == "status":
        return {"sha": f"{number:040x}", "context": op, "state": "success"}
    return {"body": json.dumps({"about": op}), "path": f"/{op}"}


def ask(asked: dict[str, object]) -> str:
    """The Effect's state, or the code of the problem."""
    request = urllib.request.Request(
        os.environ["TENURE_HUB"].rstrip("/") + "/v1/agent/effects",
        data=json.dumps(asked).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['TENURE_CAPABILITY']}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S + 5) as answer:
            return str(json.load(answer)["state"])
    except urllib.error.HTTPError as error:
        try:
            return str(json.load(error)["code"])
        except (ValueError, OSError):
            return f"http {error.code}"
    except (OSError, ValueError) as error:
        return type(error).__name__


def command(kind: str) -> None:
    """The same by `tenure effect comment`, as an agent does it that has a shell."""
    number, body = params("comment", SCRIPT["op"]).values()
    words = [
        SCRIPT["tenure"],
        "effect",
        "comment",
        str(number),
        "--body",
        str(body),
        "--target",
        "forge:quay/lamp",
    ]
    ran = subprocess.run(
        [*words, "--wait", "10"], stdin=subprocess.DEVNULL, capture_output=True, timeout=90, check=False
    )
    mark("effect", kind=kind, answer="confirmed" if ran.returncode == 0 else f"exit {ran.returncode}")
    if ran.returncode:
        effect("comment")


def push() -> None:
    op = SCRIPT["op"]
    Path(op).write_text(op)
    git("add", op)
    # The same commit from each Attempt, so that it is one push.
    stamp = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    git("commit", "--quiet", "--message", op, **stamp)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        code, told = git("push", "--quiet", "tenure", f"HEAD:refs/heads/tenure/{op}")
        mark("effect", kind="push", answer="confirmed" if code == 0 else told[-300:])
        if code == 0:
            return
        if any(word in told for word in STOP):
            sys.exit(3)
        PAUSE.wait(0.5)
    mark("end", word="failed")
    say(
        {
            "type": "result",
            "verdict": "failed",
            "class": "capacity",
            "summary": "not pushed",
            "retry_after_s": 1,
        }
    )
    sys.exit(1)


def git(*words: str, **more: str) -> tuple[int, str]:
    ran = subprocess.run(
        ["git", *words],
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return ran.returncode, ran.stderr.decode("utf-8", "replace")


def end(words: list[object]) -> None:
    what = words[0]
    if what == "die":
        mark("end", word="die")
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "exit":
        mark("end", word=f"exit {words[1]}")
        sys.exit(int(str(words[1])))


def main() -> None:
    plans = SCRIPT["attempts"]
    mark("start")
    for step in plans[min(int(os.environ["TENURE_ATTEMPT"]), len(plans)) - 1]:
        what, *rest = step
        if what == "work":
            work(rest[0])
        elif what == "effect":
            effect(rest[0])
        elif what == "command":
            command("comment")
        elif what == "push":
            push()
        elif what == "fork":
            subprocess.Popen(["sleep", str(rest[0])], start_new_session=True, stdin=subprocess.DEVNULL)
        elif what == "deaf":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif what == "say":
            if rest[0]["type"] in ("result", "ask"):
                mark("end", word=rest[0].get("verdict", "ask"))
            say(rest[0])
        else:
            end(step)
    mark("end", word="exit 0")


if __name__ == "__main__":
    SCRIPT = json.loads(sys.argv[2])
    main()
