"""The house rules that no linter knows. An exception stands in one of the lists here, with its reason."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

MODULE_LINES, MODULE_LINES_HARD = 400, 600
FUNCTION_LINES, FUNCTION_LINES_HARD = 50, 70
PAGE_LINES = 150
TEST_NAME_WORDS = 4
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "manager", "misc", "types"}
STATE_WORDS = {"state", "status", "verdict"}

# Each: what is longer than the usual limit (never than the hard one), and why no cut makes it clearer.
LONG_MODULES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {
    "src/tenure/node/parts.py:__init__": "the one place where the parts of a daemon meet, one line a part",
    "src/tenure/testing/forge/shapes.py:pull": "one documented answer, field by field; cut in two it could not be read beside it",
    "src/tenure/testing/forge/shapes.py:repository": "one documented answer, field by field; cut in two it could not be read beside it",
}
# Each: a file outside `core` that compares states, and why that is no decision of its own.
STATE_COMPARISONS: dict[str, str] = {
    "src/tenure/node/runner/process_tree.py": "a process's state as the kernel tells it, no life cycle of ours",
}
# Each: a test file that sleeps, and why a condition cannot be waited for.
SLEEPERS = {"tests/eventually.py": "the bounded wait that the others use instead of sleeping"}

# Written with brackets so that this file does not find itself.
ELSEWHERE = re.compile(r"p[y]pi\.org|pythonh[o]sted|registry\.n[p]mjs|deb\.d[e]bian|/w[o]rk/|/r[o]ot/")
UNFINISHED = re.compile(r"\bT[O]DO\b|\bF[I]XME\b|\bX[X]X\b|NotImpl[e]mentedError")
SUPPRESSION = re.compile(
    r"#\s*(type:\s*ignore(\[[^\]]*\])?|noqa(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*)?|pyright:\s*[\w=]+(\[[^\]]*\])?"
    r"|pragma:\s*no\s*\w+)(?P<reason>.*)$"
)


def test_modules_stay_within_their_length_and_exceptions_say_why() -> None:
    problems: list[str] = []
    for path in python_files("src"):
        name, lines = relative(path), len(path.read_text().splitlines())
        limit = MODULE_LINES_HARD if name in LONG_MODULES else MODULE_LINES
        if lines > limit:
            problems.append(f"{name}: {lines} lines, {limit} at most")
    for path in python_files("tests", "bench", "tools", "examples"):
        lines = len(path.read_text().splitlines())
        if lines > MODULE_LINES_HARD:
            problems.append(f"{relative(path)}: {lines} lines, {MODULE_LINES_HARD} at most")
    assert_none(problems)


def test_functions_stay_within_their_length_and_exceptions_say_why() -> None:
    problems: list[str] = []
    for path in python_files("src", "bench", "tools", "examples"):
        for function in functions(tree_of(path)):
            name = f"{relative(path)}:{function.name}"
            limit = FUNCTION_LINES_HARD if name in LONG_FUNCTIONS else FUNCTION_LINES
            lines = length_without_docstring(function)
            if lines > limit:
                problems.append(f"{name}: {lines} lines, {limit} at most")
    assert_none(problems)


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = (
        (path, part) for path in python_files("src") for part in path.relative_to(ROOT).with_suffix("").parts
    )
    assert_none(f"{relative(path)}: `{part}` says nothing" for path, part in parts if part in VAGUE_NAMES)


def test_every_module_begins_with_a_docstring() -> None:
    code = (path for path in python_files("src", "tests", "bench", "tools") if path.read_text().strip())
    assert_none(f"{relative(path)}: no docstring" for path in code if not ast.get_docstring(tree_of(path)))


def test_only_the_core_decides_on_states() -> None:
    """Elsewhere a comparison on a state is a rule in the wrong place: ask the core a question by name.

    The simulated world judges from outside, so it must not ask the core what it judges."""
    problems: list[str] = []
    for path in python_files("src"):
        name = relative(path)
        if not name.startswith(("src/tenure/core/", "src/tenure/sim/")) and name not in STATE_COMPARISONS:
            problems += (f"{name}:{line}: compares a state" for line in state_comparisons(tree_of(path)))
    assert_none(problems)


def test_no_test_sleeps_instead_of_waiting_for_a_condition() -> None:
    assert_none(
        f"{relative(path)}:{line}: sleeps; use tests.eventually or a fake clock"
        for path in python_files("tests")
        if relative(path) not in SLEEPERS
        for line in sleeps(tree_of(path))
    )


def test_every_test_has_a_name_that_is_a_sentence() -> None:
    tests = (
        (path, function)
        for path in python_files("tests")
        for function in functions(tree_of(path))
        if function.name.startswith("test_")
    )
    assert_none(
        f"{relative(path)}:{function.lineno}: `{function.name}` is no sentence"
        for path, function in tests
        if len(function.name.split("_")) - 1 < TEST_NAME_WORDS
    )


def test_every_skipped_test_says_why_it_is_skipped() -> None:
    problems: list[str] = []
    for path in python_files("tests"):
        for node in ast.walk(tree_of(path)):
            marks = node.decorator_list if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
            problems += (
                f"{relative(path)}:{mark.lineno}: no reason" for mark in marks if skips_silently(mark)
            )
    assert_none(problems)


def test_every_suppression_carries_its_reason() -> None:
    problems: list[str] = []
    for path in python_files("src", "tests", "bench", "tools", "examples"):
        previous = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = SUPPRESSION.search(line)
            given = found is None or len(found["reason"].strip(" #-:").split()) > 1
            if not given and not previous.lstrip().startswith("# "):
                problems.append(f"{relative(path)}:{number}: a suppression without its reason")
            previous = line
    assert_none(problems)


def test_no_file_names_a_registry_host_or_a_path_of_one_machine() -> None:
    assert_none(hits(ELSEWHERE, every_text_file()))


def test_nothing_is_left_unfinished_in_the_tree() -> None:
    assert_none(hits(UNFINISHED, (path for path in every_text_file() if path.suffix != ".md")))


def test_the_first_pages_stay_short_enough_to_be_read() -> None:
    pages = [path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if path.exists()]
    assert_none(
        f"{page.name}: {lines} lines, {PAGE_LINES} at most"
        for page in pages
        if (lines := len(page.read_text().splitlines())) > PAGE_LINES
    )


def test_every_link_between_pages_leads_to_a_file() -> None:
    pages = (path for path in every_text_file() if path.suffix == ".md")
    assert_none(
        f"{relative(page)}: no such file: {target}"
        for page in pages
        for target in links(page.read_text())
        if not (page.parent / target).exists()
    )


def test_every_decision_record_is_numbered_in_order_and_stands_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    index = (folder / "README.md").read_text()
    assert [name[:4] for name in records] == [f"{number:04}" for number in range(1, len(records) + 1)]
    assert_none(f"docs/adr/README.md does not list {name}" for name in records if f"({name})" not in index)


def test_every_declared_dependency_is_locked_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    locks = {"base": project["project"]["dependencies"], **project["dependency-groups"]}
    for lock, wanted in locks.items():
        text = (ROOT / "requirements" / f"{lock}.txt").read_text()
        locked = set(
            re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==[^\n]*\\\n {4}--hash=sha256:", text, re.MULTILINE)
        )
        missing = {re.split(r"[\[<>=!~; ]", line)[0] for line in wanted} - locked
        assert not missing, f"requirements/{lock}.txt lacks {sorted(missing)}: run `make lock`"


def test_every_exception_to_these_rules_is_still_needed() -> None:
    """The lists at the top may only shrink: an entry for what is no longer there is dead."""
    listed = {*LONG_MODULES, *STATE_COMPARISONS, *SLEEPERS, *(name.split(":")[0] for name in LONG_FUNCTIONS)}
    assert_none(f"{name} is gone" for name in listed if not (ROOT / name).exists())
    idle = [name for name in STATE_COMPARISONS if not list(state_comparisons(tree_of(ROOT / name)))]
    idle += [name for name in LONG_MODULES if len((ROOT / name).read_text().splitlines()) <= MODULE_LINES]
    assert_none(f"{name} needs no exception any more" for name in idle)


# What the rules ask of the tree


def links(text: str) -> Iterator[str]:
    """Targets inside the repository; what stands in code is no link."""
    without_code = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", without_code):
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def state_comparisons(tree: ast.AST) -> Iterator[int]:
    """Lines that compare or match an attribute named for a state.

    Not counted: whether there is one (`is None`), numbers (an HTTP status), a column in a query (`table.c.state`).
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            operands: list[ast.expr] = [node.subject]
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        else:
            continue
        if any(is_state(operand) for operand in operands) and not any(
            is_plain(operand) for operand in operands
        ):
            yield node.lineno


def is_state(node: ast.expr) -> bool:
    is_column = (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "c"
    )
    return isinstance(node, ast.Attribute) and node.attr in STATE_WORDS and not is_column


def is_plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, int))


def sleeps(tree: ast.AST) -> Iterator[int]:
    """Lines that call something named `sleep` with anything but a literal zero, which only yields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "asyncio.sleep", "sleep"}:
            zero = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            if not zero:
                yield node.lineno


def skips_silently(mark: ast.expr) -> bool:
    name = ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)
    says_why = isinstance(mark, ast.Call) and any(keyword.arg == "reason" for keyword in mark.keywords)
    return (
        name.startswith("pytest.mark.")
        and name.rsplit(".", 1)[1] in {"skip", "skipif", "xfail"}
        and not says_why
    )


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def length_without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = function.body[0] if ast.get_docstring(function) else None
    documented = (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - documented


def hits(pattern: re.Pattern[str], paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := pattern.search(line):
                yield f"{relative(path)}:{number}: {found[0]}"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def python_files(*folders: str) -> list[Path]:
    wanted = tuple(f"{folder}/" for folder in folders)
    return [path for path in tracked() if path.suffix == ".py" and relative(path).startswith(wanted)]


def every_text_file() -> list[Path]:
    return [path for path in tracked() if b"\0" not in path.read_bytes()[:8000]]


@cache
def tracked() -> tuple[Path, ...]:
    """What is, or would be, committed: neither ignored nor deleted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    return tuple(path for name in sorted(set(listed.stdout.split("\0"))) if (path := ROOT / name).is_file())


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def assert_none(problems: Iterable[str]) -> None:
    found = sorted(problems)
    if found:
        pytest.fail("\n".join(found), pytrace=False)
