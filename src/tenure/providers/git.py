"""A git remote: one branch moved from an expected commit to the next, never by force.

`apply` is two or three steps, each bounded: look where the remote's branch is (nothing can have happened yet: every
failure is certain), check in our own store that the new commit descends from the old one, push with a lease on the
old one. The lease alone would permit a push that loses commits, the check alone one that races: both together are a
compare-and-swap that only goes forward. The remote compares once more when it moves the branch. Once the push runs,
only the remote's own word on the branch is certain; everything else, a time-out above all, may have been done.

The objects come from a store of the hub's own (`store`: where the target's commits are). Of the user's configuration
nothing is used: no credential helper, no askpass, no `insteadOf`, no hooks. The credential is a header for this one
address, handed over in the environment, so that no process list shows it; redirects are refused, so that it goes
nowhere else."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import final

from tenure.core.effect_kind import NO_SHA, Push
from tenure.core.scope import EffectKind
from tenure.errors import (
    ConfigurationError,
    DuplicateEffectError,
    OutcomeUnknownError,
    ProviderRefusedError,
    UnavailableError,
)
from tenure.providers.looking import not_done
from tenure.providers.port import Call, Capabilities, Found, Result
from tenure.providers.settings import HIDDEN, ProviderSettings, checked_address
from tenure.runtime.git import Git, GitResult

SETTLING_S = 1.0
KINDS = frozenset({EffectKind.PUSH})
LOOK_SHARE = 0.3
"""Of a call's time, what looking first may take."""
LISTING_BYTES = 65_536
WORDS = 500
_TARGET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")
_REFUSES_US = re.compile(
    r"Authentication failed|could not read (Username|Password)|error: 40[134]|not found|Permission denied"
    r"|does not appear to be a git repository|does not exist",
    re.IGNORECASE,
)
_ISOLATED = (
    ("credential.helper", ""),
    ("core.askPass", ""),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "ssh -o BatchMode=yes"),
    ("http.followRedirects", "false"),
    ("protocol.allow", "never"),
    ("protocol.https.allow", "always"),
    ("protocol.http.allow", "always"),
    ("protocol.ssh.allow", "always"),
    ("protocol.file.allow", "always"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("push.pushOption", ""),
    ("push.recurseSubmodules", "no"),
)


@final
class GitProvider:
    """Pushes to the repositories below one address."""

    def __init__(self, settings: ProviderSettings, git: Git, store: Callable[[str], Path]) -> None:
        """`store`: the repository of ours in which a target's commits are. `url` may be an http(s) or ssh address, or
        an absolute path.

        Raises:
            ConfigurationError: the address is none.
        """
        self._remote = remote_address(settings)
        self._environment = isolated(settings, self._remote)
        self._secrets = settings.secrets
        self._git = git
        self._store = store
        settling_s = SETTLING_S if settings.settling_s is None else settings.settling_s
        self.capabilities = Capabilities(kinds=KINDS, finds=KINDS, settling_s=settling_s)

    async def close(self) -> None:
        """Nothing is kept open."""

    async def apply(self, call: Call) -> Result:
        """Look, check, push.

        Raises:
            UnavailableError: the remote was not reached before anything was pushed.
            ProviderRefusedError: it said no, its branch is elsewhere, or the push would not go forward.
            DuplicateEffectError: the branch is there already.
            OutcomeUnknownError: the push ran and gave no word on the branch.
        """
        push, remote = pushed(call), self._remote_of(call.target)
        if call.deadline_s <= 0:
            raise UnavailableError("the deadline was over before git was called; nothing was pushed")
        loop = asyncio.get_running_loop()
        until_s = loop.time() + call.deadline_s
        now = await self._where(call, push, remote, call.deadline_s * LOOK_SHARE)
        if now == push.new:
            raise DuplicateEffectError(f"{push.ref} is at {push.new} already")
        if now != push.old:
            raise ProviderRefusedError(
                f"{push.ref} is at {now}, not at {push.old}; nothing was pushed", now=now, expected=push.old
            )
        await self._forward_only(call, push, call.deadline_s * LOOK_SHARE)
        return await self._push(call, push, remote, until_s - loop.time())

    async def find(self, call: Call) -> Found:
        """Is the branch at the new commit? Past it counts, where our store knows the commits between.

        Raises:
            UnavailableError: the remote cannot be asked now.
            ProviderRefusedError: it does not answer us.
        """
        push = pushed(call)
        now = await self._where(call, push, self._remote_of(call.target), call.deadline_s / 2)
        if now == push.new:
            return Found(result=result_of(push))
        if now == push.old:
            return Found()
        if now != NO_SHA and await self._is_ancestor(call, push.new, now, call.deadline_s / 2):
            return Found(result=result_of(push))
        return Found(contradiction=f"{push.ref} is at {now}: neither at {push.old} nor at {push.new}")

    async def _where(self, call: Call, push: Push, remote: str, timeout_s: float) -> str:
        words = ("ls-remote", "--quiet", "--", remote, f"refs/heads/{push.ref}")
        try:
            said = await self._ask("list the remote's branch", call, words, timeout_s)
        except (UnavailableError, ConfigurationError) as error:
            raise UnavailableError(f"the remote was not reached: {self._plain(error.message)}") from error
        if not said.ok:
            words_said = self._plain(said.error) or "it said nothing"
            if _REFUSES_US.search(words_said):
                raise ProviderRefusedError(f"the remote does not answer us: {words_said}", words=words_said)
            raise UnavailableError(f"the remote was not reached: {words_said}", words=words_said)
        for line in said.output.decode("utf-8", "replace").splitlines():
            sha, _, name = line.partition("\t")
            if name == f"refs/heads/{push.ref}":
                return sha
        return NO_SHA

    async def _forward_only(self, call: Call, push: Push, timeout_s: float) -> None:
        old = push.new if push.old == NO_SHA else push.old
        if not await self._is_ancestor(call, old, push.new, timeout_s):
            raise ProviderRefusedError(
                f"{push.new} is not here, or does not descend from {push.old}; a push never loses commits. "
                "Nothing was pushed"
            )

    async def _is_ancestor(self, call: Call, old: str, new: str, timeout_s: float) -> bool:
        """Of two commits in our store; of one that is not there nothing is known, which is no."""
        said = await self._ask(
            "compare two commits", call, ("merge-base", "--is-ancestor", old, new), timeout_s
        )
        return said.ok

    async def _push(self, call: Call, push: Push, remote: str, timeout_s: float) -> Result:
        expected = "" if push.old == NO_SHA else push.old
        full = f"refs/heads/{push.ref}"
        words = (
            *("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed"),
            *(f"--force-with-lease={full}:{expected}", "--", remote, f"{push.new}:{full}"),
        )
        try:
            said = await self._ask("push a branch", call, words, max(timeout_s, 0.1))
        except (UnavailableError, ConfigurationError) as error:
            # A full disk may be the remote's, and a time-out says nothing of what was done before it.
            raise OutcomeUnknownError(
                f"the push was cut off, {push.ref} may have moved: {self._plain(error.message)}"
            ) from error
        return self._judged(push, full, said)

    def _judged(self, push: Push, full: str, said: GitResult) -> Result:
        words = self._plain(said.error) or "it said nothing"
        flag, summary = word_on(full, said.output.decode("utf-8", "replace"))
        if said.ok and flag in {" ", "*"}:
            return result_of(push)
        if flag == "=":
            raise DuplicateEffectError(f"{push.ref} is at {push.new} already")
        if flag == "!" and "remote failure" not in summary:
            reason = self._plain(summary)
            raise ProviderRefusedError(
                f"the remote refused {push.ref}: {reason}; {words}. Nothing was pushed",
                words=f"{reason}; {words}",
            )
        raise OutcomeUnknownError(f"the push gave no word on {push.ref}, it may have moved: {words}")

    async def _ask(self, purpose: str, call: Call, words: tuple[str, ...], timeout_s: float) -> GitResult:
        return await self._git.ask(
            purpose,
            self._store(call.target),
            *words,
            env=self._environment,
            timeout_s=max(timeout_s, 0.1),
            output_bytes=LISTING_BYTES,
        )

    def _remote_of(self, target: str) -> str:
        if not target:
            return self._remote
        if not _TARGET.fullmatch(target) or ".." in target:
            raise ProviderRefusedError(f"{target!r} names no repository", target=target)
        return f"{self._remote}/{target}"

    def _plain(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return " ".join(text.split())[-WORDS:]


def pushed(call: Call) -> Push:
    """The push that a call is about.

    Raises:
        ProviderRefusedError: it is about something else.
    """
    if not isinstance(call.params, Push):
        not_done("a git remote", call)
    return call.params


def result_of(push: Push) -> Result:
    return Result(identity=push.new, facts={"ref": push.ref, "old": push.old})


def word_on(full: str, output: str) -> tuple[str, str]:
    """The remote's flag and words on one branch, from `--porcelain`; two empty texts without one.

    Source: git-push(1), OUTPUT."""
    for line in output.splitlines():
        parts = line.split("\t")
        if len(parts) == 3 and parts[1].endswith(f":{full}"):
            return parts[0] or " ", parts[2]
    return "", ""


def remote_address(settings: ProviderSettings) -> str:
    """The remote's address, without a slash at its end.

    Raises:
        ConfigurationError: it is no address that git may be given.
    """
    url = settings.url
    if url.startswith(("http://", "https://")):
        return checked_address(settings, url)
    if url.startswith("/") or re.fullmatch(r"ssh://[A-Za-z0-9_.@:\[\]-]+/\S*", url):
        if settings.credential:
            raise ConfigurationError("only an https:// remote takes a credential; ssh uses the hub's own key")
        return url.rstrip("/")
    raise ConfigurationError("a git provider needs an https:// or ssh:// address or an absolute path")


def isolated(settings: ProviderSettings, remote: str) -> Mapping[str, str]:
    """Variables under which git uses nothing of the user's configuration, and sends the credential to `remote` only."""
    pairs = list(_ISOLATED)
    if settings.credential:
        login = base64.b64encode(f"{settings.user}:{settings.credential}".encode()).decode()
        pairs.append((f"http.{remote}.extraHeader", f"Authorization: Basic {login}"))
    if settings.ca_file:
        pairs.append(("http.sslCAInfo", settings.ca_file))
    if settings.proxy:
        pairs.append(("http.proxy", settings.proxy))
    variables = {
        "GIT_CONFIG_COUNT": str(len(pairs)),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for number, (name, value) in enumerate(pairs):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**variables, "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
