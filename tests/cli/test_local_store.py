"""Commands that look into a node's store while its daemon may be at work: they write nothing there."""

from pathlib import Path

import msgspec
import pytest

from tenure.cli.local.clean_up import clean_up
from tenure.cli.process.joining import is_enrolled
from tenure.errors import ConflictError, DataFolderTooNewError
from tenure.runtime.data_folder import open_data_folder
from tests.node.test_node_store import write_older


class Cli:
    """As much of an invocation as these need."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env: dict[str, str] = {}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    folder = open_data_folder(tmp_path / "home", "1")
    folder.part("node/laptop")
    return Cli(folder.root)


def store(cli: Cli) -> Path:
    return cli.home / "node" / "laptop" / "mirror.db"


async def test_gc_refuses_a_data_folder_of_a_newer_version(cli: Cli) -> None:
    (cli.home / "format.json").write_bytes(msgspec.json.encode({"format": 99, "written_by": "9.0"}))
    with pytest.raises(DataFolderTooNewError, match=r"written by Tenure 9\.0"):
        await clean_up(cli, dry_run=True, nested_too=False)  # type: ignore[arg-type] - as much of one as is needed


async def test_gc_leaves_a_store_of_an_older_version_to_its_daemon(cli: Cli) -> None:
    write_older(store(cli))
    before = store(cli).read_bytes()
    with pytest.raises(ConflictError, match="Start the node once"):
        await clean_up(cli, dry_run=False, nested_too=False)  # type: ignore[arg-type] - as much of one as is needed
    assert store(cli).read_bytes() == before
    assert [one.name for one in store(cli).parent.iterdir()] == ["mirror.db"]


async def test_whether_a_node_is_enrolled_is_found_out_without_a_change(cli: Cli) -> None:
    assert not await is_enrolled(cli, "laptop")  # type: ignore[arg-type] - as much of one as is needed
    write_older(store(cli))
    before = store(cli).read_bytes()
    # The start that follows brings it up to date, and knows.
    assert await is_enrolled(cli, "laptop")  # type: ignore[arg-type] - as much of one as is needed
    assert store(cli).read_bytes() == before
