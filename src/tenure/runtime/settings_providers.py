"""Settings of providers: where effects land."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tenure.runtime.settings_value import Account, Name, Text, Url, expects, says

Settling = Annotated[float, Meta(ge=0, le=3600)]
Address = Annotated[
    str,
    expects(
        "an address (https://…, ssh://…) or an absolute path, without a user name or password",
        r"\A((https?|ssh)://[^\s/]\S*|/\S*)\Z",
    ),
]
Form = Annotated[
    str,
    expects("an address with {delivery} in it", r"\Ahttps?://[^\s/]\S*\{delivery\}\S*\Z"),
]
Version = Annotated[str, expects("a date such as 2022-11-28", r"\A\d{4}-\d{2}-\d{2}\Z")]


class ProviderTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where effects land. One `[providers.NAME]` table for each; targets name it: `NAME:owner/repo`.

    No secret stands here: `tenure provider add NAME` stores a provider's credential and its webhook secret,
    encrypted. A provider can also be made by that command alone, without a table.
    """

    kind: Annotated[
        Literal["github", "gitlab", "gitea", "webhook", "git"],
        says("What speaks there. `gitea` is also Forgejo; `webhook` any receiver of signed requests."),
    ]
    url: Annotated[
        Address | None,
        says(
            "Its address: the API's (`github`, default `https://api.github.com`), the server's (`gitlab`, default"
            " `https://gitlab.com`; `gitea`), the receiver's (`webhook`), or what repositories' names are appended"
            " to (`git`)."
        ),
    ] = None
    credential: Annotated[
        Name | None,
        says("The provider under whose name the credential was stored. When absent: its own name."),
    ] = None
    webhook_secret: Annotated[
        Name | None,
        says(
            "The provider under whose name the webhook secret was stored, which signs what a `webhook` is sent and"
            " checks what a forge sends. When absent: its own name."
        ),
    ] = None
    settling_s: Annotated[
        Settling | None,
        says(
            "How long after a call its own answers may not show it yet; a lost call counts as not made only"
            " when it is still not there after that. When absent: what the kind is known for."
        ),
    ] = None
    find_url: Annotated[
        Form | None,
        says(
            "Of a `webhook`: where to ask whether a delivery was received, answered with 200 or 404 and JSON that names"
            " the delivery. Without it a lost answer is a question to a person."
        ),
    ] = None
    user: Annotated[
        Account | None, says("Of `git`: the user name beside the credential. When absent: `x-access-token`.")
    ] = None
    api_version: Annotated[
        Version | None,
        says("Of `github`: the version of the API, for a server that is older than the client."),
    ] = None
    ca_file: Annotated[
        Text | None,
        says(
            "Certificates (PEM) to trust instead of the usual ones. A relative path counts from the file's folder."
        ),
    ] = None
    proxy: Annotated[
        Url | None, says("An HTTP proxy to go through. The proxies of the environment are not used.")
    ] = None
