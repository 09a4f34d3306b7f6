"""Output within bounds on disk and in memory, whatever it is; the harness's own lines; a full disk."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.node.run.folder import Found
from tenure.node.run.messages import Limits
from tenure.node.run.output import output_pieces, output_tail, protocol_chunks
from tests.eventually import eventually
from tests.process.runner_lab import BOUND_S, Run, runs_in

KIB, MIB = 1 << 10, 1 << 20
SMALL = Limits(head_bytes=KIB, segment_bytes=KIB, segments=2, protocol_bytes=2 * KIB, protocol_line_bytes=400)


def lines(run: Run) -> list[bytes]:
    return b"".join(protocol_chunks(run.folder)).splitlines()


def say(*messages: str) -> str:
    return "".join(f"printf '%s\\n' '{message}' >&3\n" for message in messages)


def test_bytes_are_kept_as_they_are(run: Run) -> None:
    run.start(run.shell(r"printf 'a\000b\377\376\r\n\303'"))
    assert run.outcome().steps[0].stdout_bytes == 8
    assert run.output() == b"a\0b\xff\xfe\r\n\xc3"


def test_the_head_and_the_newest_segments_are_kept(run: Run) -> None:
    run.start(run.shell("i=0; while [ $i -lt 1000 ]; do i=$((i+1)); printf '%09d\\n' $i; done"), limits=SMALL)
    assert run.outcome().steps[0].stdout_bytes == 10_000
    pieces = list(output_pieces(run.folder, 0, "stdout"))
    assert [(piece.offset, len(piece.data)) for piece in pieces] == [
        (0, KIB),
        (8 * KIB, KIB),
        (9 * KIB, 10_000 - 9 * KIB),
    ]
    whole = b"".join(b"%09d\n" % number for number in range(1, 1001))
    for piece in pieces:
        assert whole[piece.offset : piece.offset + len(piece.data)] == piece.data
    tail = output_tail(run.folder, 0, "stdout", 1500)
    assert (tail.offset, tail.data) == (8500, whole[-1500:])
    far_tail = output_tail(run.folder, 0, "stdout", 100_000)
    assert (far_tail.offset, far_tail.data) == (8 * KIB, whole[8 * KIB :])
    assert [piece.offset for piece in output_pieces(run.folder, 0, "stdout", start=9_500)] == [9_500]


def test_each_step_has_streams_of_its_own(run: Run) -> None:
    run.start(run.shell("echo one"), run.shell("echo two; echo three >&2", kind="check"))
    run.outcome()
    assert (run.output(0), run.output(1), run.output(1, "stderr")) == (b"one\n", b"two\n", b"three\n")
    assert list(output_pieces(run.folder, 0, "stderr")) == []
    assert output_tail(run.folder, 0, "stderr", 100).data == b""


def test_hundreds_of_megabytes_are_bounded_on_disk_and_in_memory(run: Run) -> None:
    run.start(
        run.shell(
            "head -c 300000000 /dev/zero; echo $PPID > $DIR/runner; while [ ! -e $DIR/go ]; do sleep 0.02; done"
        )
    )
    runner = run.wait_note("runner")
    status = Path(f"/proc/{runner}/status").read_text()
    peak_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    (run.files / "go").touch()
    outcome = run.outcome()
    assert outcome.steps[0].stdout_bytes == 300_000_000
    assert outcome.spool_lost_bytes == 0
    assert sum(path.stat().st_size for path in run.folder.glob("stdout.*")) <= 10 * MIB
    assert peak_kib < 32 * 1024


def test_a_line_of_a_hundred_megabytes_is_just_bytes(run: Run) -> None:
    run.start(run.shell("head -c 100000000 /dev/zero | tr '\\000' x; echo; echo end"))
    assert run.outcome().steps[0].stdout_bytes == 100_000_005
    assert output_tail(run.folder, 0, "stdout", 10).data == b"xxxxx\nend\n"


def test_output_that_a_daemon_goes_on_writing_does_not_keep_the_run(run: Run) -> None:
    run.start(run.shell("setsid sh -c 'while :; do echo still here; done' & exit 2"), drain_s=0.2)
    outcome = run.outcome()
    assert outcome.steps[0].exit_code == 2
    assert outcome.tree_gone


# -- the harness's own lines


def test_protocol_lines_are_spooled_and_counted(run: Run) -> None:
    run.start(run.shell(say('{"type":"progress"}', "", "no JSON", '{"type":"result","verdict":"completed"}')))
    outcome = run.outcome()
    assert lines(run) == [b'{"type":"progress"}', b"no JSON", b'{"type":"result","verdict":"completed"}']
    assert (outcome.protocol_lines, outcome.protocol_dropped_lines) == (3, 0)
    assert outcome.result_line == '{"type":"result","verdict":"completed"}'


def test_a_last_line_without_its_end_counts(run: Run) -> None:
    run.start(run.shell("""printf '{"type":"ask","question":"?"}' >&3"""))
    assert run.outcome().result_line == '{"type":"ask","question":"?"}'


def test_the_protocol_file_is_read_at_the_end(run: Run) -> None:
    run.start(run.shell("""echo '{"type":"usage"}' >&3; echo '{"type":"result"}' > $TENURE_PROTOCOL_FILE"""))
    outcome = run.outcome()
    assert lines(run) == [b'{"type":"usage"}', b'{"type":"result"}']
    assert outcome.result_line == '{"type":"result"}'


def test_a_fifo_in_the_place_of_the_protocol_file_holds_up_nothing(run: Run) -> None:
    run.start(run.shell("mkfifo $TENURE_PROTOCOL_FILE"))
    assert run.outcome().steps[0].exit_code == 0


def test_a_link_in_the_place_of_the_protocol_file_is_not_followed(run: Run) -> None:
    (run.files / "secret").write_text('{"type":"result"}\n')
    run.start(run.shell("ln -s $DIR/secret $TENURE_PROTOCOL_FILE"))
    assert run.outcome().result_line is None


def test_checks_have_no_say_in_the_protocol(run: Run) -> None:
    run.start(
        run.shell(say('{"type":"result","verdict":"failed"}')),
        run.shell('[ -z "$TENURE_PROTOCOL_FD$TENURE_PROTOCOL_FILE" ] && ! { true >&3; } 2>&-', kind="check"),
    )
    outcome = run.outcome()
    assert outcome.steps[1].exit_code == 0
    assert outcome.result_line == '{"type":"result","verdict":"failed"}'


def test_what_a_daemon_says_after_the_turn_is_no_word_of_it(run: Run) -> None:
    run.start(
        run.shell(
            "setsid sh -c 'while [ ! -e $DIR/checking ]; do sleep 0.02; done;"
            """ echo "{\\"type\\":\\"result\\"}" >&3; touch $DIR/said' & true"""
        ),
        run.shell("touch $DIR/checking; sleep 0.3", kind="check"),
        drain_s=0.1,
    )
    assert run.outcome().result_line is None


def test_the_last_word_is_kept_when_the_spool_is_full(run: Run) -> None:
    run.start(
        run.shell(
            'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo \'{"type":"progress"}\' >&3; done;'
            + say('{"type":"result"}')
        ),
        limits=SMALL,
    )
    outcome = run.outcome()
    assert outcome.protocol_lines == 201
    assert outcome.protocol_dropped_lines == 201 - len(lines(run))
    assert len(lines(run)) * 20 <= 2 * KIB
    assert outcome.result_line == '{"type":"result"}'


def test_of_several_last_words_the_last_is_kept(run: Run) -> None:
    run.start(
        run.shell(
            say(
                '{"type":"result","n":1}',
                '{"type":"ask"}',
                '{"type":"result","n":2}',
                '{"type":"usage","x":"result"}',
            )
        )
    )
    assert run.outcome().result_line == '{"type":"result","n":2}'


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_is_not(run: Run) -> None:
    run.start(
        run.python("import os; os.write(3, b'x' * 100000 + b'\\n{\"type\":\"usage\"}\\n')"), limits=SMALL
    )
    outcome = run.outcome()
    assert lines(run) == [b'{"type":"usage"}']
    assert (outcome.protocol_lines, outcome.protocol_dropped_lines) == (2, 1)


def test_a_last_word_that_is_too_long_leaves_no_earlier_one_standing(run: Run) -> None:
    """Else a failure that was told at length would be outvoted by the success that was told before."""
    code = """
    import os
    os.write(3, b'{"type":"result","verdict":"completed"}\\n')
    long = b'{"pad":"' + b'x' * 100000 + b'","type":"result","verdict":"failed"}\\n'
    while long:
        long = long[os.write(3, long[:1001]):]
    """
    run.start(run.python(code), limits=SMALL)
    outcome = run.outcome()
    assert (outcome.result_line, outcome.protocol_dropped_lines) == (None, 1)


def test_a_megabyte_of_result_is_kept_whole(run: Run) -> None:
    code = """
    import os
    line = b'{"type":"result","summary":"' + b'\\\\"' * 500000 + b'"}\\n'
    while line:
        line = line[os.write(3, line):]
    """
    run.start(run.python(code))
    outcome = run.outcome()
    assert outcome.protocol_dropped_lines == 0
    assert outcome.result_line is not None
    assert len(json.loads(outcome.result_line)["summary"]) == 500_000


def test_a_result_with_broken_text_is_still_a_result(run: Run) -> None:
    run.start(run.python('import os; os.write(3, b\'{"type":"result","summary":"\\xff\\xfe"}\\n\')'))
    assert run.outcome().result_line == '{"type":"result","summary":"\ufffd\ufffd"}'


@pytest.mark.parametrize(
    "line", ['"result"', '["result"]', '{"type":"result"', '{"result":1}', "[" * 3000 + '"result"']
)
def test_what_only_looks_like_a_result_is_none(run: Run, line: str) -> None:
    (run.files / "line").write_text(line + "\n")
    run.start(run.shell("cat $DIR/line >&3"))
    outcome = run.outcome()
    assert outcome.result_line is None
    assert outcome.protocol_lines == 1


def test_a_protocol_file_of_any_size_is_read_at_both_ends(run: Run) -> None:
    script = """
    echo '{"type":"progress"}' > $TENURE_PROTOCOL_FILE
    truncate -s 80M $TENURE_PROTOCOL_FILE
    printf '\\n{"type":"result","verdict":"failed"}\\n' >> $TENURE_PROTOCOL_FILE
    """
    run.start(run.shell(script))
    outcome = run.outcome()
    assert lines(run) == [b'{"type":"progress"}', b'{"type":"result","verdict":"failed"}']
    assert outcome.result_line == '{"type":"result","verdict":"failed"}'
    assert outcome.protocol_dropped_lines == 1


# -- a full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Run]:
    """A run on a disk of 6 MiB, of which the runner reserves two for its outcome."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount a tmpfs")
    try:
        with runs_in(disk) as runs:
            yield runs.new()
    finally:
        eventually(
            lambda: subprocess.run(["umount", str(disk)], capture_output=True).returncode == 0, BOUND_S
        )


def fill(folder: Path) -> None:
    with contextlib.suppress(OSError), (folder / "ballast").open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    with contextlib.suppress(OSError), (folder / "ballast").open("ab", buffering=0) as file:
        while True:
            file.write(b"x")


def test_a_full_disk_neither_ends_the_run_nor_hides_how_it_ended(small_disk: Run) -> None:
    run = small_disk
    run.start(run.shell("echo $$ > $DIR/pid; while [ ! -e $DIR/ballast ]; do sleep 0.02; done; sleep 0.3;"
                        " head -c 9000000 /dev/zero; " + say('{"type":"result","verdict":"completed"}') + "exit 5"))  # fmt: skip
    run.wait_note("pid")
    (run.files / "ballast").touch()
    fill(run.files)
    outcome = run.outcome()
    assert outcome.steps[0].exit_code == 5
    assert outcome.steps[0].stdout_bytes == 9_000_000
    assert outcome.spool_lost_bytes > 8_000_000
    assert outcome.result_line == '{"type":"result","verdict":"completed"}'
    assert outcome.protocol_dropped_lines == 1
    assert run.state().found is Found.ENDED


def test_the_spool_goes_on_when_there_is_room_again_and_the_gap_shows(small_disk: Run) -> None:
    run = small_disk
    run.start(run.python("""
    import os, time
    here = os.environ["DIR"]
    def wait(name):
        while not os.path.exists(f"{here}/{name}"):
            time.sleep(0.01)
    os.write(1, b"before")
    print(os.getpid(), file=open(f"{here}/pid", "w"))
    wait("full")
    left = b"x" * 200000
    while left:
        left = left[os.write(1, left):]
    os.rename(f"{here}/full", f"{here}/written")
    wait("room")
    time.sleep(1.2)
    os.write(1, b"after")
    """))  # fmt: skip
    run.wait_note("pid")
    fill(run.files)
    (run.files / "ballast").rename(run.files / "full")
    eventually((run.files / "written").exists, BOUND_S, "more is written than a pipe holds")
    (run.files / "written").write_bytes(b"")
    (run.files / "written").rename(run.files / "room")
    outcome = run.outcome()
    pieces = list(output_pieces(run.folder, 0, "stdout"))
    assert outcome.steps[0].stdout_bytes == 200_011
    assert pieces[-1].data.endswith(b"after")
    assert outcome.spool_lost_bytes > 0
    assert sum(len(piece.data) for piece in pieces) == 200_011 - outcome.spool_lost_bytes


def test_a_disk_that_is_full_before_the_start_starts_nothing(small_disk: Run) -> None:
    run = small_disk
    run.prepare(run.shell("touch $DIR/executed"))
    fill(run.files)
    assert run.start_runner() == 5
    assert run.state().found is Found.NEVER_STARTED
    assert not (run.files / "executed").exists()
    (run.files / "ballast").unlink()
    assert run.start_runner() == 0
    assert run.outcome().steps[0].exit_code == 0


def test_the_folder_may_vanish_under_the_runner(run: Run) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; while [ ! -e $DIR/go ]; do sleep 0.02; done"))
    run.wait_note("pid")
    pid = run.runner_pid()
    moved = run.folder.rename(run.folder.with_name("moved"))
    (run.files / "go").touch()
    eventually((moved / "outcome.json").exists, BOUND_S, "it holds on to the folder, not to its name")
    eventually(lambda: not Path(f"/proc/{pid}").exists(), BOUND_S)
    moved.rename(run.folder)
