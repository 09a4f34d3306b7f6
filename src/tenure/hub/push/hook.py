"""Git's two hooks of a push, as one program that is started by path: it asks the hub and does as it is told.

`pre-receive` asks whether what was pushed may come in at all; until then it lies in a quarantine that git throws away on
a no. `proc-receive` has the hub do it. No branch of the staging repository is ever moved by a push.

Standard library only: it starts within a push, isolated from the hub's packages. Both talk over one inherited socket, a
line of JSON each way; without an answer the push is refused."""

import json
import os
import sys
from typing import Any

MOST_BYTES = 65_536
MOST_OPTIONS = 16
REFUSED = 1


def main() -> int:
    return pre_receive() if sys.argv[1] == "pre-receive" else proc_receive()


def pre_receive() -> int:
    lines = sys.stdin.buffer.read(MOST_BYTES + 1).split(b"\n")
    answer = asked("check", [line for line in lines if line])
    return 0 if answer.get("ok") is True else REFUSED


def proc_receive() -> int:
    """Source: githooks(5), proc-receive."""
    version = read_section()
    if not version or not version[0].startswith(b"version=1"):
        return REFUSED
    write_section([b"version=1\0"])
    commands = read_section()
    answer = asked("forward", commands)
    reasons: list[str | None] = answer.get("refs") or ["no answer"] * len(commands)
    said: list[bytes] = []
    for command, reason in zip(commands, reasons, strict=True):
        ref = command.split(b" ", 2)[-1]
        said.append(b"ok " + ref if reason is None else b"ng " + ref + b" " + str(reason).encode())
    write_section(said)
    return 0


def asked(what: str, commands: list[bytes]) -> dict[str, Any]:
    """The hub's answer; what it says to the agent is passed on, which git shows as `remote: …`."""
    refs = [one.decode("ascii", "backslashreplace").split(" ", 2) for one in commands]
    env = os.environ  # noqa: TID251 - git speaks to its hooks by it
    count = int(env.get("GIT_PUSH_OPTION_COUNT", "0"))
    options = [env.get(f"GIT_PUSH_OPTION_{number}", "") for number in range(min(count, MOST_OPTIONS))]
    question = {
        "what": what,
        "refs": refs,
        "options": [one.encode("ascii", "backslashreplace").decode() for one in options],
        "objects": env.get("GIT_OBJECT_DIRECTORY", ""),
    }
    line = int(env["TENURE_LINE"])
    send(line, json.dumps(question).encode() + b"\n")
    text = b""
    while not text.endswith(b"\n"):
        piece = os.read(line, MOST_BYTES)
        if not piece:
            sys.stderr.write("tenure: the hub went away before it answered; push again\n")
            return {}
        text += piece
    answer: dict[str, Any] = json.loads(text)
    for sentence in answer.get("said", ()):
        sys.stderr.write(f"tenure: {sentence}\n")
    sys.stderr.flush()
    return answer


def send(line: int, data: bytes) -> None:
    while data:
        data = data[os.write(line, data) :]


def read_section() -> list[bytes]:
    """The packets up to a flush packet.

    Source: gitprotocol-common(5), pkt-line."""
    found: list[bytes] = []
    while True:
        size = int(read_exactly(4) or b"0000", 16)
        if size == 0:
            return found
        found.append(read_exactly(size - 4).removesuffix(b"\n"))


def read_exactly(size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := os.read(0, size - len(data))):
        data += piece
    return data


def write_section(packets: list[bytes]) -> None:
    send(1, b"".join(b"%04x" % (len(one) + 4) + one for one in packets) + b"0000")


if __name__ == "__main__":
    sys.exit(main())
