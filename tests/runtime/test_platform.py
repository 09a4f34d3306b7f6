"""What the machine can do, read from made-up /proc folders and from the real one."""

import os
import resource
import sys
from pathlib import Path

import pytest

from tenure.runtime import platform
from tenure.runtime.platform import (
    NO_BOOT_ID,
    NO_CGROUP,
    NO_PROC,
    allow_open_files,
    can_divide,
    inspect_platform,
    own_cgroups,
)

V1 = "31 23 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
PURE = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev - cgroup2 cgroup2 rw,nsdelegate"
HYBRID = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 - cgroup2 cgroup2 rw"
PART = "41 31 0:38 /user.slice /mnt/a\\040part rw,relatime - cgroup2 cgroup2 rw"


def made_up(folder: Path, cgroup: str, mounts: list[str]) -> Path:
    (folder / "self").mkdir()
    (folder / "self" / "cgroup").write_text(cgroup)
    (folder / "self" / "mountinfo").write_text("\n".join(mounts) + "\n")
    return folder


@pytest.mark.parametrize(
    ("cgroup", "mounts", "folders"),
    [
        ("0::/user.slice/app.scope\n", [PURE], ["/sys/fs/cgroup/user.slice/app.scope"]),
        ("0::/\n", [PURE], ["/sys/fs/cgroup"]),
        ("4:memory:/x\n0::/a b\n", [V1, HYBRID], ["/sys/fs/cgroup/unified/a b"]),
        ("0::/user.slice/x\n", [PART], ["/mnt/a part/x"]),
        ("0::/user.slice\n", [PART], ["/mnt/a part"]),
        ("0::/user.slices\n", [PART], []),
        ("0::/system.slice\n", [PART, HYBRID], ["/sys/fs/cgroup/unified/system.slice"]),
        ("0::/../elsewhere\n", [PURE], []),
        ("4:memory:/x\n", [V1], []),
        ("4:memory:/x\n", [V1, HYBRID], []),
        ("", [], []),
    ],
)
def test_the_own_cgroup_is_found_wherever_it_is_mounted(
    tmp_path: Path, cgroup: str, mounts: list[str], folders: list[str]
) -> None:
    assert list(own_cgroups(made_up(tmp_path, cgroup, mounts))) == folders


def test_a_folder_that_is_no_cgroup_cannot_be_divided(tmp_path: Path) -> None:
    assert not can_divide(tmp_path)
    (tmp_path / "cgroup.procs").touch()
    assert not can_divide(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["cgroup.procs"]


def test_a_system_without_proc_has_its_weaknesses_named(tmp_path: Path) -> None:
    found = inspect_platform(tmp_path)
    assert (found.boot_id, found.cgroup_parent, found.has_proc) == ("", None, False)
    assert {NO_BOOT_ID, NO_CGROUP, NO_PROC} <= set(found.weaknesses)


@pytest.mark.skipif(sys.platform != "linux", reason="the guarantee of Linux")
def test_this_machine_is_described_as_it_is() -> None:
    found = inspect_platform()
    assert found.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert (found.has_proc, found.has_subreaper) == (True, True)
    if found.cgroup_parent:
        assert os.access(f"{found.cgroup_parent}/cgroup.procs", os.W_OK)
        assert not list(Path(found.cgroup_parent).glob("tenure-trial-*"))
    assert (NO_CGROUP in found.weaknesses) == (found.cgroup_parent is None)


def test_an_old_kernel_without_pidfd_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(platform.os, "pidfd_open", refused)
    assert platform.NO_PIDFD in inspect_platform().weaknesses


def test_each_weakness_has_a_code_a_consequence_and_a_remedy() -> None:
    known = [value for value in vars(platform).values() if isinstance(value, platform.Weakness)]
    assert len({weakness.code for weakness in known}) == len(known) == 5
    assert all(weakness.consequence and weakness.remedy for weakness in known)


def test_a_process_may_hold_as_many_files_as_its_hard_limit_lets_it() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        assert allow_open_files(300) == 300
        assert allow_open_files(100) == 300
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
