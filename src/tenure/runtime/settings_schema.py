"""Every setting: its key, type, bounds, default and meaning.

The structs are the only list of keys. The reader refuses what is not here, and the reference page is made
from here. What must hold between two settings stands in `settings_rules`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tenure.core import limits
from tenure.runtime.settings_notifications import NotificationSettings
from tenure.runtime.settings_providers import ProviderTable
from tenure.runtime.settings_value import Account, Name, Text, Url, expects, says

DEFAULT_PORT = 8484
MEBIBYTE = 2**20
BODY_BYTES = 16 * MEBIBYTE
"""The largest body of a request that a hub takes unless its settings say otherwise."""
DAY_S = 86_400

Word = Annotated[str, expects("text without NUL characters", r"\A[^\x00]*\Z")]
Variable = Annotated[
    str,
    expects(
        "a variable's name: letters, digits and '_', not beginning with a digit",
        r"\A[A-Za-z_][A-Za-z0-9_]*\Z",
    ),
]
Port = Annotated[int, Meta(ge=0, le=65_535)]
ShortTime = Annotated[float, Meta(ge=0.1, le=3600)]
LongTime = Annotated[float, Meta(ge=0.5, le=30 * DAY_S)]
GraceTime = Annotated[float, Meta(ge=0, le=600)]
PollTime = Annotated[float, Meta(ge=0, le=30)]
TaskTime = Annotated[int, Meta(ge=1, le=limits.TIMEOUT_S)]
Space = Annotated[int, Meta(ge=65_536, le=2**40)]
Body = Annotated[int, Meta(ge=65_536, le=2**30)]
TailSpace = Annotated[int, Meta(ge=256, le=limits.EVIDENCE_BYTES // 4)]
Offers = Annotated[int, Meta(ge=1, le=1000)]
Batch = Annotated[int, Meta(ge=1, le=10_000)]
Requests = Annotated[int, Meta(ge=1, le=1_000_000)]
Runs = Annotated[int, Meta(ge=0, le=1_000_000)]
Units = Annotated[int, Meta(ge=1, le=limits.CAPACITY)]
Place = Annotated[
    str,
    expects("an absolute path, or one that begins with ~/", r"\A(/|~/)[^\x00]*\Z"),
]


class HubSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hub: where it listens, how long its leases and graces are, and its bounds."""

    bind: Annotated[
        Text,
        says(
            "The address to listen on. One that other machines can reach needs TLS (`tls_cert`, `tls_key`) or"
            " `allow_insecure_bind`."
        ),
    ] = "127.0.0.1"
    port: Annotated[Port, says("The TCP port to listen on; 0 takes any free one.")] = DEFAULT_PORT
    tls_cert: Annotated[
        Text | None,
        says(
            "The certificate chain (PEM). A relative path counts from the settings file's folder. When the file is replaced, the"
            " new one counts without a restart."
        ),
    ] = None
    tls_key: Annotated[Text | None, says("The certificate's private key (PEM); path as for `tls_cert`.")] = (
        None
    )
    tls_client_ca: Annotated[
        Text | None,
        says(
            "The CAs (PEM) of nodes' certificates. With it nodes are taken only with a certificate of theirs, and one that"
            " names hosts must name the node; people need none. It asks for TLS 1.3. Path as for `tls_cert`."
        ),
    ] = None
    trusted_proxies: Annotated[
        tuple[Text, ...],
        Meta(max_length=100),
        says(
            "The addresses of proxies before the hub. From these alone `X-Forwarded-For` is believed, and stands in the"
            " record as the place that a decision came from."
        ),
    ] = ()
    allow_insecure_bind: Annotated[
        bool, says("Listen beyond this machine without TLS. Tokens then cross the network in the clear.")
    ] = False
    offer_ttl_s: Annotated[
        ShortTime, says("How long a grant waits for its node's receipt before it is offered to another.")
    ] = 10
    lease_ttl_s: Annotated[LongTime, says("How long a lease lasts without a renewal.")] = 30
    suspect_grace_s: Annotated[
        LongTime,
        says(
            "How long an Attempt whose lease expired may still be renewed or reported before its outcome is"
            " `unknown`."
        ),
    ] = 60
    cancel_grace_s: Annotated[
        LongTime, says("How long a cancel waits for the node's report before the outcome is `unknown`.")
    ] = 60
    stall_after_s: Annotated[
        LongTime, says("Renewed this long without progress, an Attempt is reported as stalled. It goes on.")
    ] = 600
    max_offers: Annotated[
        Offers, says("Grants that may run out unanswered before a person is asked to look.")
    ] = 5
    max_batch: Annotated[
        Batch, says("Commands that may share one commit: more for throughput, fewer for shorter waits.")
    ] = limits.BATCH
    requests_per_s: Annotated[
        Requests,
        says(
            "How many requests a second one token, or one node, may send; for some seconds four times as many. Beyond it the"
            " answer is 429, and nothing was done. Work in batches needs few."
        ),
    ] = 500
    max_body_bytes: Annotated[
        Body, says("The largest request body accepted. It must hold a batch of submissions or reports.")
    ] = BODY_BYTES


class NodeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The node on this machine: its name, its hub, its timing, and what it keeps on disk."""

    name: Annotated[
        Name,
        says(
            "The name under which this machine is enrolled and addressed (`RECIPIENT@NAME`). When absent:"
            " the host name in lower case, with other characters replaced by `-`."
        ),
    ] = ""
    hub_url: Annotated[
        Url,
        says(
            "The address of the hub. Once it is set, commands on this machine use it, too, where neither --hub nor `TENURE_HUB`"
            " names one and none runs on the data folder."
        ),
    ] = f"http://127.0.0.1:{DEFAULT_PORT}"
    ca_file: Annotated[
        Text | None,
        says(
            "The CA (PEM) of the hub's certificate, where it is none of the usual ones; for commands and agents on this"
            " machine too. `TENURE_CA_FILE` goes before it. A relative path counts from the settings file's folder. For the hub"
            " of the same data folder only agents need it."
        ),
    ] = None
    tls_cert: Annotated[
        Text | None,
        says(
            "The certificate (PEM) that the node shows to a hub that asks; path as for `ca_file`. It is read at the node's start."
        ),
    ] = None
    tls_key: Annotated[Text | None, says("Its private key (PEM); path as for `ca_file`.")] = None
    renew_every_s: Annotated[ShortTime, says("How often the node renews its leases.")] = 10
    margin_s: Annotated[
        ShortTime,
        says(
            "How long before the end of its lease the runner pauses the work, so that it is at rest when the"
            " hub stops counting on it."
        ),
    ] = 3
    claim_wait_s: Annotated[PollTime, says("How long one request for work waits at the hub.")] = 30
    stop_grace_s: Annotated[
        GraceTime,
        says(
            "How long a program and all its processes have to end after a cancel or at a time limit: SIGINT at"
            " once, SIGTERM after half of it, SIGKILL at its end; where the program has a `cancel` of its own, that"
            " at once, SIGINT after a third, SIGTERM after two."
        ),
    ] = 10
    output_bytes: Annotated[
        Space, says("Output kept on disk for one run. Beyond it the beginning and the end are kept.")
    ] = 64 * MEBIBYTE
    output_tail_bytes: Annotated[
        TailSpace, says("The end of the output that goes into a report as evidence.")
    ] = 16_384
    protocol_bytes: Annotated[
        Space, says("Messages of a harness (progress, usage, result) kept on disk for one run.")
    ] = 16 * MEBIBYTE
    keep_runs: Annotated[
        Runs, says("Run folders kept after their report was recorded; older ones are removed.")
    ] = 200


class SandboxSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a sandboxed program may see and reach beyond its worktree and the system's programs."""

    read: Annotated[
        tuple[Place, ...],
        Meta(max_length=limits.ARGUMENTS),
        says(
            "Files and folders that it may read, such as programs installed under a home. One that is not there is left out."
        ),
    ] = ()
    write: Annotated[
        tuple[Place, ...],
        Meta(max_length=limits.ARGUMENTS),
        says(
            "Files and folders that it may read and change, such as a model's login file or a package cache. All"
            " Attempts share them."
        ),
    ] = ()
    network: Annotated[
        bool,
        says(
            "Whether it has the machine's network, services on loopback included. Without it neither a model nor the hub"
            " can be reached."
        ),
    ] = True


class RecipientSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent that this node offers, addressed as `NAME@NODE`. One `[[recipients]]` table for each."""

    name: Annotated[Name, says("The recipient's name, unique on this node.")]
    harness: Annotated[Name, says("The adapter that drives the program.")] = "command"
    argv: Annotated[
        tuple[Word, ...],
        Meta(max_length=limits.ARGUMENTS),
        says(
            "The program and its arguments. In braces: `{prompt_file}`, `{prompt}`, `{worktree}`,"
            " `{run_dir}`, `{task}`, `{attempt}`, `{model}`, `{session_id}`. Give either `argv` or `script`."
        ),
    ] = ()
    script: Annotated[
        Text | None,
        says("Shell text, run as `sh -c`. Nothing is replaced in it: use the `TENURE_…` variables."),
    ] = None
    resume: Annotated[
        tuple[Word, ...],
        Meta(max_length=limits.ARGUMENTS),
        says(
            "What is run in place of `argv` or `script` to go on with an earlier session of the same program;"
            " words in braces as in `argv`. `{session_id}` must be one of them."
        ),
    ] = ()
    resumes: Annotated[
        bool,
        says(
            "The program goes on with the session in `TENURE_SESSION_ID` by itself when `TENURE_RESUME` is set."
            " Where there is a `resume`, this need not be set."
        ),
    ] = False
    cancel: Annotated[
        Literal["signals", "message"],
        says(
            "How the program is asked to end. `signals`: SIGINT, then SIGTERM. `message`: before those with a line"
            " on the descriptor in `TENURE_CONTROL_FD`."
        ),
    ] = "signals"
    allow_command: Annotated[
        bool, says("A task may bring its own command (`tenure run -- PROGRAM …`) in place of this one.")
    ] = False
    env: Annotated[
        dict[Variable, Word],
        says("Variables added to the program's environment; placeholders as in `argv`."),
    ] = {}
    strip_env: Annotated[
        tuple[Text, ...],
        says("Further variables of the node's environment to hide; `*` stands for anything."),
    ] = ()
    keep_env: Annotated[
        tuple[Variable, ...],
        says(
            "Variables to pass on although the isolation's rules would hide them. A forge's token named here"
            " gives the agent the power to act outside Tenure's Effects."
        ),
    ] = ()
    cwd: Annotated[
        Text,
        says(
            "Where the program starts: a path in the worktree (`.`, `packages/api`), or `{run_dir}`. A task"
            " without a repository starts in its run folder whatever is said here."
        ),
    ] = "."
    prompt: Annotated[
        Literal["stdin", "file", "argument"],
        says(
            "How the program gets its prompt: on standard input, only as a file (`TENURE_PROMPT_FILE`, which"
            " is always set), or as its last argument."
        ),
    ] = "stdin"
    pools: Annotated[
        tuple[Name, ...],
        Meta(max_length=limits.POOLS),
        says("Pools this recipient takes work from, beside its own name."),
    ] = ()
    capacity: Annotated[Units, says("Attempts it may run at the same time.")] = 1
    provider: Annotated[
        Name | None,
        says(
            "The account whose quota it draws on, in a name of your own (`anthropic`). Recipients with the same one"
            " wait together when that quota is used up. When absent it waits alone."
        ),
    ] = None
    model: Annotated[
        Text | None, says("The model it uses. A task that names a model goes only where the two agree.")
    ] = None
    exit_zero_is_completed: Annotated[
        bool,
        says(
            "Exit code 0 without a `result` message is `completed`. When false it is `unknown`: set that for"
            " programs that must always state their result."
        ),
    ] = True
    timeout_s: Annotated[
        TaskTime | None,
        says(
            "The longest one Attempt may take here, where its task does not say. When absent:"
            " `defaults.timeout_s`."
        ),
    ] = None
    isolation: Annotated[
        Literal["open", "user", "sandbox"],
        says(
            "How far the program is kept from the node's own powers. `open`: it runs as the node's user;"
            " forge tokens, the SSH agent and git's credential helpers are hidden from it. `user`: it runs as"
            " the user that `user` names (the node must run as root). `sandbox`: it runs in bubblewrap and sees"
            " its worktree and the system's programs. docs/guides/isolation.md says what each keeps."
        ),
    ] = "open"
    user: Annotated[
        Account | None,
        says("The user to run as, for the isolation `user`. Not root, and best nobody else's either."),
    ] = None
    sandbox: Annotated[SandboxSettings, says("What the isolation `sandbox` shows beyond its worktree.")] = (
        SandboxSettings()
    )

    @property
    def can_resume(self) -> bool:
        """Can its program go on with an earlier session?"""
        return bool(self.resume) or self.resumes


class DefaultSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `tenure submit` and `tenure run` take where neither flag nor file says it."""

    to: Annotated[Text | None, says("Where work goes: `NAME@NODE`, a recipient's name, or a pool.")] = None
    base: Annotated[Text, says("The revision to begin from.")] = "HEAD"
    timeout_s: Annotated[TaskTime, says("The longest one Attempt may take.")] = 3600
    checks: Annotated[
        tuple[Text, ...],
        Meta(max_length=limits.CHECKS),
        says("Acceptance checks: shell lines run in the worktree after the harness."),
    ] = ()
    check_timeout_s: Annotated[TaskTime, says("The longest one acceptance check may take.")] = 600


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of one machine."""

    hub: HubSettings = HubSettings()
    node: NodeSettings = NodeSettings()
    recipients: tuple[RecipientSettings, ...] = ()
    defaults: DefaultSettings = DefaultSettings()
    providers: dict[str, ProviderTable] = {}
    notifications: NotificationSettings = NotificationSettings()
