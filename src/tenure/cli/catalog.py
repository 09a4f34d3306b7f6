"""Which commands there are: the name, the module that holds it, and what it does in one line.

Plain data without imports, so that `tenure --help` costs little more than a bare Python start. A test holds each line against the
first line of the command's own docstring.
"""

from __future__ import annotations

Row = tuple[str, str, str]

CATALOG: dict[str, tuple[Row, ...]] = {
    "Start and stop": (
        ("up", "up", "Start hub and node on this machine."),
        ("down", "down", "Stop what runs on this data folder."),
        ("hub", "daemons", "Run the hub in the foreground."),
        ("node", "daemons", "Run this machine's node in the foreground."),
        ("enroll", "daemons", "Introduce this machine to a hub elsewhere."),
    ),
    "Give work": (
        ("run", "submission", "Run a program as a task, wait for it and show its result."),
        ("submit", "submission", "Submit a task."),
    ),
    "Look": (
        ("list", "tasks", "List tasks, the newest first."),
        ("show", "tasks", "Show a task with its attempts."),
        ("watch", "tasks", "Follow a task until it ends or needs you."),
        ("why", "tasks", "Say why a task is where it is."),
        ("log", "output_log", "Show what an attempt wrote."),
        ("events", "event_log", "Show what was recorded."),
        ("draw", "draw", "Draw a task's story as a picture."),
    ),
    "Decide": (
        ("attention", "attention", "List what needs you."),
        ("resolve", "resolving", "Answer a question of `tenure attention`."),
        ("approve", "effect_answers", "Allow an effect, or a task's attempt, that waits for a person."),
        ("reject", "effect_answers", "Refuse an effect, or a task's attempt, that waits for a person."),
        ("reconcile", "reconciliation", "Answer for an attempt whose outcome is unknown."),
        ("cancel", "canceling", "Cancel a task."),
        ("retry", "retrying", "Let a task be tried again, with what you change."),
        ("challenge", "review", "Challenge an attempt that has ended, or answer a challenge."),
    ),
    "Use the result": (
        ("diff", "changes", "Show what an attempt changed, as a patch."),
        ("fetch", "changes", "Fetch an attempt's commits into your repository, as a branch."),
        ("worktree", "changes", "Say where an attempt's worktree is."),
        ("gc", "changes", "Remove worktrees and run folders that nobody needs any more."),
    ),
    "For agents": (
        ("effect", "effects", "Ask for effects outside (pull requests, comments, …), and look at them."),
        ("mcp", "mcp", "Serve a task's own tools to its agent, over the Model Context Protocol."),
    ),
    "Operate": (
        ("nodes", "fleet", "List nodes, release or forget one, rotate this machine's credential."),
        ("recipients", "fleet", "List recipients: what may be given work, and whether it can take it now."),
        ("pause", "pause", "Start nothing new at the hub, a project, a node or a recipient."),
        ("resume", "pause", "Let new work start again where it was paused."),
        ("project", "project", "Show projects: what runs, what they may use, what each weighs."),
        ("budget", "budget", "Show, set and raise what projects, the hub and tasks may use."),
        ("policy", "policy", "Show, check, store and choose what follows from a failure."),
        ("circuits", "circuit", "List providers that are left alone for lack of room, or close one."),
        ("schedule", "schedules", "Submit a task again and again, at times of a time zone."),
        ("token", "tokens", "Issue, rotate, list and revoke tokens."),
        ("provider", "providers", "Configure where effects land, and the credentials for it."),
        ("notify", "notifications", "Say where people are told that something needs them."),
        ("audit", "audit", "Prove that the record is what it was, and export it."),
        ("doctor", "doctor", "Check this machine and say what to do."),
        ("settings", "settings", "Show the settings that hold, and where each comes from."),
        ("sim", "sim", "Attack the engine in simulated worlds."),
        ("demo", "demo", "See it survive crashes, for real."),
        ("version", "version", "Show the version."),
    ),
}

USAGE = "Usage: tenure [OPTIONS] COMMAND [ARGS]..."
SUMMARY = "Runs AI agents' work on machines that fail, and never guesses what happened."
START = """\
Five minutes, in any git repository:
  tenure up --detach
  tenure run -- sh -c 'date > now.txt; git add now.txt; git commit -m "add the date"'
  tenure list"""
OPTIONS: tuple[tuple[str, str], ...] = (
    ("--home FOLDER", "The data folder (else TENURE_HOME, else ~/.local/share/tenure)."),
    (
        "--config FILE",
        "The settings file (else TENURE_CONFIG, ./tenure.toml, tenure.toml in the data folder).",
    ),
    ("--hub URL", "The hub (else TENURE_HUB, else the one of the data folder, else the node's)."),
    ("--token TOKEN", "The token to show to it (better in TENURE_TOKEN, which other users cannot see)."),
    ("--json", "JSON on standard output, nothing else. Every command has it."),
    ("--debug", "Show the stack of an error, too."),
    ("--install-completion", "Install completion for the current shell (--show-completion prints it)."),
    ("--version", "Show the version."),
    ("--help, -h", "Show this, or what a command takes: tenure COMMAND --help."),
)


def overview() -> str:
    """What `tenure --help` says."""
    width = max(len(name) for rows in CATALOG.values() for name, _, _ in rows)
    parts = [USAGE, "", SUMMARY, "", START]
    for group, rows in CATALOG.items():
        parts += ["", f"{group}:", *(f"  {name:<{width}}  {line}" for name, _, line in rows)]
    wide = max(len(name) for name, _ in OPTIONS)
    parts += ["", "Options:", *(f"  {name:<{wide}}  {line}" for name, line in OPTIONS)]
    return "\n".join(parts) + "\n"


def module_of(command: str) -> str | None:
    """The module that holds a command; None when there is no such command."""
    for rows in CATALOG.values():
        for name, module, _ in rows:
            if name == command:
                return f"tenure.cli.{module}" if module == "demo" else f"tenure.cli.command.{module}"
    return None


def command_names() -> list[str]:
    return [name for rows in CATALOG.values() for name, _, _ in rows]
