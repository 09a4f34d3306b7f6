"""`tenure policy`: what follows from a failure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenure.cli.asking.policy_file import PolicyFile
    from tenure.client.hub import HubClient
    from tenure.core.policy import Policy
    from tenure.wire.policies import ChoiceBody, ExplanationBody, PolicyBody, PolicyRequest

app = family()
policy_app = commands_below(app, "policy", "Show, check, store and choose what follows from a failure.")
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file.")]
ForOption = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="SUBJECT",
        help="hub, project:NAME, or route:ROUTE (a recipient, its bare name, or a pool).",
    ),
]
BecauseOption = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept.")]


AUTO_NOTE = (
    'unknown = "auto" has an effect only where Attempts are isolated (user or sandbox): for recipients whose isolation is '
    "open a person is asked all the same, and `tenure policy use` refuses a route that has no others"
)


@command(policy_app, "list")
async def list_policies(cli: Invocation) -> None:
    """List policies, and where each holds."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        found, choices = await hub.policies(), await hub.policy_choices()
    cli.out.data({"policies": found, "choices": choices})
    if cli.out.json:
        return
    rows = (
        (
            one.policy,
            "built in" if one.built_in else f"{one.stored_by}, {one.stored_at}",
            one.unknown,
            ", ".join(choice.subject for choice in choices if is_of(choice, one)),
        )
        for one in found
    )
    cli.out.table(("policy", "stored by", "unknown", "chosen for"), rows)
    pinned = [one for one in choices if one.means not in {policy.policy for policy in found}]
    for one in pinned:
        cli.out.note(f"{one.subject} keeps to {one.means}")
    if not any(choice.subject == "hub" for choice in choices):
        cli.out.note("where nothing is chosen, `default` holds")


def is_of(choice: ChoiceBody, policy: PolicyBody) -> bool:
    return choice.means == policy.policy


@command(policy_app, "show")
async def show(
    cli: Invocation,
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]", help="NAME (its newest version) or NAME/VERSION.", show_default=False
        ),
    ] = "default",
    toml: Annotated[bool, typer.Option("--toml", help="As a file to start from.")] = False,
) -> None:
    """Show a policy: for each class of failure the evidence, the response, and what follows where that cannot be done."""
    from tenure.cli.asking.policy_file import built_in_base, text_of
    from tenure.wire.policies import policy_body

    built_in = built_in_base(name)
    # A built-in one can be read without a hub; only where it is chosen is then not known.
    body = policy_body(built_in) if built_in is not None else await _stored(cli, name)
    cli.out.data(body)
    if cli.out.json:
        return
    if toml:
        cli.out.say(text_of(body).rstrip("\n"))
        return
    tell_policy(cli, body)


async def _stored(cli: Invocation, name: str) -> PolicyBody:
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        return await hub.policy(name)


def tell_policy(cli: Invocation, body: PolicyBody) -> None:
    stored = "built in" if body.built_in else f"stored by {body.stored_by} at {body.stored_at}"
    chosen = f", chosen for {', '.join(body.chosen_for)}" if body.chosen_for else ""
    older = "" if body.newest else ", not its newest version"
    cli.out.say(f"{body.policy}  {stored}{chosen}{older}")
    tell_table(cli, body)


def tell_table(cli: Invocation, body: PolicyBody) -> None:
    """What a policy says, class by class."""
    from tenure.cli.text.policy import HEAD, policy_rows

    answers = (
        "the hub runs it again elsewhere, where it was isolated"
        if body.unknown == "auto"
        else "a person answers"
    )
    cli.out.say(f"unknown outcomes: {body.unknown} ({answers})")
    cli.out.table(HEAD, policy_rows(body))


@command(policy_app, "check")
async def check(cli: Invocation, file: FileArgument) -> None:
    """Check a policy file, and tell everything that is wrong with it at once.

    It needs a hub only if the file extends a policy that is stored there.
    """
    from tenure.cli.asking.policy_file import problems_of, read_policy
    from tenure.wire.policies import policy_body

    read = read_policy(file)
    base, missing = await base_of(cli, read.request)
    policy, problems = problems_of(read, base, missing)
    if policy is None or problems:
        refuse(file, problems)
    cli.out.data({"policy": policy.key, "problems": [], "warnings": auto_note(policy)})
    if not cli.out.json:
        cli.out.say(f"{file} is fine: {policy.key}")
        tell_table(cli, policy_body(policy))
    for note in auto_note(policy):
        cli.out.note(note)


def refuse(file: Path, problems: Sequence[str]) -> NoReturn:
    """Tells what is wrong with a file.

    Raises:
        InvalidError: always.
    """
    from tenure.cli.text.counting import counted
    from tenure.errors import InvalidError

    lines = "".join(f"\n  {one}" for one in problems)
    raise InvalidError(
        f"{file} has {counted(len(problems), 'problem')}:{lines}", path=str(file), problems=list(problems)
    )


def auto_note(policy: Policy) -> list[str]:
    from tenure.core.policy import UnknownRule

    if policy.unknown is not UnknownRule.AUTO:
        return []
    return [AUTO_NOTE]


async def base_of(cli: Invocation, request: PolicyRequest) -> tuple[Policy | None, str | None]:
    """The policy that a file extends (a stored one is asked of the hub), and what is wrong where there is none."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.asking.policy_file import built_in_base
    from tenure.errors import TenureError

    if request.extends is None:
        return None, None
    known = built_in_base(request.extends)
    if known is not None:
        return known, None
    try:
        async with connected(cli) as hub:
            return await base_at(hub, request.extends)
    except TenureError as error:
        return (
            None,
            f"extends: {request.extends[:80]!r} is not built in, and no hub can be asked: {error.message}",
        )


async def base_at(hub: HubClient, name: str) -> tuple[Policy | None, str | None]:
    """A policy that is stored there, or what is wrong with the name."""
    from tenure.cli.asking.policy_file import built_in_base
    from tenure.errors import InvalidError, NotFoundError

    known = built_in_base(name)
    if known is not None:
        return known, None
    try:
        return whole(await hub.policy(name)), None
    except (NotFoundError, InvalidError):
        stored = [one.policy for one in await hub.policies()]
        return None, f"extends: there is no policy {name[:80]!r}; known: {', '.join(stored)}"


def whole(body: PolicyBody) -> Policy:
    """A policy as the core has it, from how it is shown."""
    import msgspec

    from tenure.cli.asking.policy_file import RULE_FIELDS
    from tenure.wire.policies import PolicyRequest, policy_of

    said = msgspec.to_builtins(body)
    rules = [{name: rule[name] for name in RULE_FIELDS if rule[name] is not None} for rule in said["rules"]]
    document = {name: said[name] for name in ("name", "version", "unknown", "responses")}
    return policy_of(msgspec.convert({**document, "rules": rules}, PolicyRequest), None)


@command(policy_app, "store")
async def store(cli: Invocation, file: FileArgument) -> None:
    """Store a policy under its name and version.

    A version never changes: what is different is another version. It holds nowhere until `tenure policy use` says where,
    or a task names it.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        body = await hub.store_policy((await checked(hub, file)).request)
    cli.out.data(body)
    if not cli.out.json:
        known = "is stored already" if body.replayed else "is stored"
        cli.out.say(f"{body.policy} {known}; `tenure policy use {body.name} --for …` says where it holds")
    tell_warnings(cli, body.warnings)


async def checked(hub: HubClient, file: Path) -> PolicyFile:
    """The policy of a file, with everything that is wrong with it told before anything is sent.

    Raises:
        InvalidError: something is.
    """
    from tenure.cli.asking.policy_file import problems_of, read_policy

    read = read_policy(file)
    extends = read.request.extends
    base, missing = (None, None) if extends is None else await base_at(hub, extends)
    _, problems = problems_of(read, base, missing)
    if problems:
        refuse(file, problems)
    return read


def tell_warnings(cli: Invocation, warnings: Sequence[str]) -> None:
    for one in warnings:
        cli.out.note(one)


@command(policy_app, "use")
async def use(
    cli: Invocation,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="NAME for whatever is its newest version, or NAME/VERSION.")
    ],
    subject: ForOption,
    because: BecauseOption,
) -> None:
    """Say where a policy holds.

    It holds for attempts that are made from now on. A route's policy comes before its project's, and that before the hub's; a
    policy that a task names comes before all.
    """
    await choose(cli, name, subject, because)


@command(policy_app, "unuse")
async def unuse(cli: Invocation, subject: ForOption, because: BecauseOption) -> None:
    """Take back what was said with `use`."""
    await choose(cli, None, subject, because)


async def choose(cli: Invocation, name: str | None, subject: str, because: str) -> None:
    from tenure.cli.asking.lookup import connected
    from tenure.cli.asking.near import tell_unserved, tell_unused
    from tenure.wire.policies import ChoiceRequest

    async with connected(cli) as hub:
        body = await hub.choose_policy(ChoiceRequest(subject=subject, policy=name, because=because))
        kind, _, named = subject.partition(":")
        if name is not None and kind == "route":
            await tell_unserved(cli, hub, named)
        if name is not None and kind == "project":
            await tell_unused(cli, hub, named, "the policy")
    cli.out.data(body)
    if not cli.out.json:
        holds = "nothing is chosen" if body.policy is None else f"{body.policy} (now {body.means}) holds"
        cli.out.say(f"{holds} for {subject}{' already' if body.replayed else ''}")
    tell_warnings(cli, body.warnings)


@command(policy_app, "explain")
async def explain(
    cli: Invocation,
    attempt: Annotated[
        str,
        typer.Argument(metavar="ATTEMPT", help="t_…/2; a task alone means its newest attempt that ended."),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE|NAME",
            help="What another policy would say of the same evidence: a stored one, or a file.",
        ),
    ] = None,
) -> None:
    """Say which rule fired on an attempt's evidence, by which policy, and what came of it.

    It changes nothing.
    """
    from tenure.cli.asking.lookup import attempt_of, connected
    from tenure.cli.asking.task_name import parse_task_name

    async with connected(cli) as hub:
        located = await attempt_of(hub, attempt)
        name, number = located.name, located.number
        if parse_task_name(attempt).number is None and located.body.verdict is None and number > 1:
            name = f"{located.task_id}/{number - 1}"
        if policy is None:
            body = await hub.explain(name)
        elif is_file(policy):
            body = await hub.explain(name, document=(await checked(hub, Path(policy))).request)
        else:
            body = await hub.explain(name, policy=policy)
    cli.out.data(body)
    if not cli.out.json:
        tell_explanation(cli, body)


def is_file(name: str) -> bool:
    """A file is named by its suffix, or by being there."""
    return name.endswith(".toml") or Path(name).is_file()


def tell_explanation(cli: Invocation, body: ExplanationBody) -> None:
    from tenure.cli.text.policy import unknown_lines
    from tenure.core.failure import UNCLASSIFIED

    cli.out.say(body.told)
    cli.out.say(f"  policy: {body.chosen}")
    for number, fact in enumerate(body.facts):
        cli.out.say(f"  {'evidence:' if number == 0 else '         '} {fact}")
    judged = body.judgement
    if judged is None:
        return
    if judged.word and judged.rule != UNCLASSIFIED:
        cli.out.say(f"  rule: the node's own word ({judged.rule}); it knew more than a rule can ask")
    for one in judged.matched:
        fires = "fires" if one.decides else "fits, but a lower rank decides"
        cli.out.say(f"  rule {one.name} (rank {one.rank}, {one.failure_class}): {one.asks} -- {fires}")
    for passed in judged.passed_over:
        cli.out.say(f"  passed over: {passed}")
    changes = f"; it changes {', '.join(judged.changes)}" if judged.changes else ""
    refunded = "; the attempt does not count" if judged.refunded else ""
    for line in unknown_lines(body):
        cli.out.say(line)
    cli.out.say(
        f"  response {judged.response}, by {judged.policy}: {judged.action}: {judged.because}{changes}{refunded}"
    )
    if judged.not_before_at is not None:
        cli.out.say(f"  not before: {judged.not_before_at}")
    if body.recorded is not None:
        cli.out.say(f"  decided at {body.recorded.at}, by {body.recorded.policy}: {body.recorded.came_to}")
