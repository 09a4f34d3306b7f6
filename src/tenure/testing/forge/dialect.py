"""The three APIs over one state: what each route does, and how it says so."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from tenure.testing.forge import shapes
from tenure.testing.forge.state import Repository, Row, State

Reply = tuple[int, Any]
Work = Callable[[], Reply]
Route = tuple[str, Work]
"""An operation's name, and its work."""

MISSING_NUMBER = 9000
"""From here on no issue is there."""


class Asked:
    """A request as a route sees it."""

    def __init__(self, method: str, path: str, query: dict[str, str], body: Any) -> None:
        self.method, self.path, self.query, self.body = method, path, query, body
        self.delivery = ""

    def page(self, rows: list[Any]) -> list[Any]:
        size = int(self.query.get("per_page") or self.query.get("limit") or 30)
        number = int(self.query.get("page") or 1)
        return rows[size * (number - 1) : size * number]


class Dialect:
    """Routes by pattern; a subclass names them in `ROUTES`: method, pattern below the repository, operation, method."""

    PREFIX = re.compile("")
    ROUTES: tuple[tuple[str, str, str, str], ...] = ()
    NO_SUCH: Reply = (404, {"message": "Not Found"})

    def __init__(self, state: State, api: str) -> None:
        self.state, self.api = state, api

    def route(self, asked: Asked) -> Route | None:
        start = self.PREFIX.match(asked.path)
        if not start:
            return None
        below = asked.path[start.end() :]
        for method, pattern, operation, name in self.ROUTES:
            found = re.fullmatch(pattern, below)
            if found and method == asked.method:
                return operation, partial(self._done, name, unquote(start[1]), asked, found.groups())
        return None

    def _done(self, name: str, full_name: str, asked: Asked, parts: tuple[str, ...]) -> Reply:
        repository = self.state.repository(full_name)
        if repository is None:
            return self.NO_SUCH
        numbers = [int(one) for one in parts if one.isdecimal() and len(one) < 10]
        if any(one >= MISSING_NUMBER for one in numbers):
            return self.NO_SUCH
        return getattr(self, name)(repository, asked, *(unquote(one) for one in parts))

    def branch(self, at: Repository, asked: Asked, name: str) -> Reply:
        """GitHub calls a commit's name `sha`, the others `id`."""
        sha = at.find_head(name)
        return (200, {"name": name, "commit": {"sha": sha, "id": sha}}) if sha else self.NO_SUCH


class GitHub(Dialect):
    PREFIX = re.compile(r"/repos/([^/]+/[^/]+)(?=/)")
    ROUTES = (
        ("POST", "/pulls", "pull_request", "propose"),
        ("GET", "/pulls", "find_pull_request", "pulls"),
        ("GET", r"/pulls/(\d+)", "find_merge", "pull"),
        ("PUT", r"/pulls/(\d+)/merge", "merge", "merge"),
        ("POST", r"/issues/(\d+)/comments", "comment", "say"),
        ("GET", r"/issues/(\d+)/comments", "find_comment", "comments"),
        ("POST", r"/issues/(\d+)/labels", "label", "label"),
        ("GET", r"/issues/(\d+)/labels", "find_label", "labels"),
        ("POST", "/statuses/([0-9a-f]+)", "status", "post"),
        ("GET", "/commits/([0-9a-f]+)/statuses", "find_status", "statuses"),
        ("GET", "/branches/(.+)", "branch", "branch"),
    )
    NO_SUCH: Reply = (404, shapes.problem("Not Found", 404))

    def propose(self, at: Repository, asked: Asked) -> Reply:
        for field in ("head", "base"):
            if at.find_head(asked.body[field].rpartition(":")[2]) is None:
                problem = {"resource": "PullRequest", "field": field, "code": "invalid"}
                return 422, shapes.problem("Validation Failed", 422, [problem])
        row = self.state.propose(at, asked.body)
        if row is None:
            return duplicate(at.full_name, asked.body)
        return 201, self._pull(at, row, whole=True)

    def pulls(self, at: Repository, asked: Asked) -> Reply:
        wanted = asked.query
        rows = [
            one
            for one in self.state.visible(list(at.pulls.values()))
            if wanted.get("base", one["base"]) == one["base"]
            and wanted.get("head", f":{one['head']}").partition(":")[2] == one["head"]
            and wanted.get("state", "open") in {"all", one["state"]}
        ]
        return 200, [self._pull(at, one, whole=False) for one in asked.page(rows[::-1])]

    def pull(self, at: Repository, asked: Asked, number: str) -> Reply:
        row = at.pulls.get(int(number))
        return (200, self._pull(at, row, whole=True)) if row else self.NO_SUCH

    def _pull(self, at: Repository, row: Row, *, whole: bool) -> Row:
        if at.git is not None and row["state"] == "open":
            row["head_sha"] = at.head(row["head"])
        shape = shapes.pull(self.api, at.full_name, row, whole=whole)
        shape["labels"] = [
            shapes.label(self.api, at.full_name, one) for one in at.labels.get(row["number"], ())
        ]
        return shape

    def merge(self, at: Repository, asked: Asked, number: str) -> Reply:
        how, row = self.state.merge(at, int(number), asked.body.get("sha"))
        if how == "merged" and row:
            said = {"sha": row["merge_sha"], "merged": True, "message": "Pull Request successfully merged"}
            return 200, said
        return {
            "missing": self.NO_SUCH,
            "moved": (
                409,
                shapes.problem("Head branch was modified. Review and try the merge again.", 409),
            ),
            "already": (405, shapes.problem("Pull Request has already been merged", 405)),
            "closed": (405, shapes.problem("Pull Request is not mergeable", 405)),
        }[how]

    def say(self, at: Repository, asked: Asked, number: str) -> Reply:
        row = self.state.say(at, int(number), asked.body["body"])
        return 201, shapes.comment(self.api, at.full_name, int(number), row)

    def comments(self, at: Repository, asked: Asked, number: str) -> Reply:
        rows = asked.page(self.state.visible(at.comments.get(int(number), [])))
        return 200, [shapes.comment(self.api, at.full_name, int(number), one) for one in rows]

    def label(self, at: Repository, asked: Asked, number: str) -> Reply:
        there = self.state.label(at, int(number), asked.body["labels"])
        return 200, [shapes.label(self.api, at.full_name, one) for one in there]

    def labels(self, at: Repository, asked: Asked, number: str) -> Reply:
        there = asked.page(at.labels.get(int(number), []))
        return 200, [shapes.label(self.api, at.full_name, one) for one in there]

    def post(self, at: Repository, asked: Asked, sha: str) -> Reply:
        return 201, shapes.status(self.api, at.full_name, sha, self.state.post(at, sha, asked.body))

    def statuses(self, at: Repository, asked: Asked, sha: str) -> Reply:
        rows = asked.page(self.state.visible(at.statuses.get(sha, [])))
        return 200, [shapes.status(self.api, at.full_name, sha, one) for one in rows]


class Gitea(GitHub):
    """As far as Gitea is like GitHub, and where it is not."""

    PREFIX = re.compile(r"/api/v1/repos/([^/]+/[^/]+)(?=/)")
    ROUTES = (
        *(one for one in GitHub.ROUTES if one[2] not in {"merge", "find_status"}),
        ("GET", "/pulls/([^/]+)/([^/]+)", "find_pull_request", "pair"),
        ("POST", r"/pulls/(\d+)/merge", "merge", "merge"),
        ("GET", "/statuses/([0-9a-f]+)", "find_status", "statuses"),
    )
    NO_SUCH: Reply = (404, {"message": "The target couldn't be found.", "url": "/api/swagger", "errors": []})

    def propose(self, at: Repository, asked: Asked) -> Reply:
        status, said = super().propose(at, asked)
        if status != 422:
            return status, said
        message = f"pull request already exists for these targets [head_branch: {asked.body['head']}]"
        return 409, {"message": message, "url": "/api/swagger"}

    def pair(self, at: Repository, asked: Asked, base: str, head: str) -> Reply:
        rows = [
            one
            for one in self.state.visible(list(at.pulls.values()))
            if (one["base"], one["head"]) == (base, head)
        ]
        return (200, self._pull(at, rows[0], whole=True)) if rows else self.NO_SUCH

    def _pull(self, at: Repository, row: Row, *, whole: bool) -> Row:
        shape = super()._pull(at, row, whole=True)
        return {**shape, "merged": row["merged_at"] is not None}

    def comments(self, at: Repository, asked: Asked, number: str) -> Reply:
        rows = self.state.visible(at.comments.get(int(number), []))
        return 200, [shapes.comment(self.api, at.full_name, int(number), one) for one in rows]

    def merge(self, at: Repository, asked: Asked, number: str) -> Reply:
        how, _ = self.state.merge(at, int(number), asked.body.get("head_commit_id"))
        return {
            "merged": (200, None),
            "missing": self.NO_SUCH,
            "moved": (409, {"message": "head out of date"}),
            "already": (405, {"message": "The pull request has already been merged"}),
            "closed": (405, {"message": "Please try again later"}),
        }[how]

    def post(self, at: Repository, asked: Asked, sha: str) -> Reply:
        return 201, said(self.state.post(at, sha, asked.body))

    def statuses(self, at: Repository, asked: Asked, sha: str) -> Reply:
        return 200, [said(one) for one in asked.page(self.state.visible(at.statuses.get(sha, [])))]


class GitLab(Dialect):
    PREFIX = re.compile(r"/api/v4/projects/([^/]+)(?=/)")
    ROUTES = (
        ("POST", "/merge_requests", "pull_request", "propose"),
        ("GET", "/merge_requests", "find_pull_request", "requests"),
        ("GET", r"/merge_requests/(\d+)", "find_merge", "one"),
        ("PUT", r"/merge_requests/(\d+)", "label", "label"),
        ("PUT", r"/merge_requests/(\d+)/merge", "merge", "merge"),
        ("POST", r"/merge_requests/(\d+)/notes", "comment", "say"),
        ("GET", r"/merge_requests/(\d+)/notes", "find_comment", "notes"),
        ("POST", "/statuses/([0-9a-f]+)", "status", "post"),
        ("GET", "/repository/commits/([0-9a-f]+)/statuses", "find_status", "statuses"),
        ("GET", "/repository/branches/([^/]+)", "branch", "branch"),
    )
    NO_SUCH: Reply = (404, {"message": "404 Not Found"})

    def propose(self, at: Repository, asked: Asked) -> Reply:
        given = asked.body
        row = self.state.propose(
            at,
            {
                "head": given["source_branch"],
                "base": given["target_branch"],
                "title": given["title"],
                "body": given.get("description"),
            },
        )
        if row is None:
            message = "Another open merge request already exists for this source branch: !1"
            return 409, {"message": [message]}
        return 201, self._request(at, row)

    def requests(self, at: Repository, asked: Asked) -> Reply:
        wanted = (asked.query.get("source_branch"), asked.query.get("target_branch"))
        rows = [
            one for one in self.state.visible(list(at.pulls.values())) if (one["head"], one["base"]) == wanted
        ]
        return 200, [self._request(at, one) for one in asked.page(rows[::-1])]

    def one(self, at: Repository, asked: Asked, number: str) -> Reply:
        row = at.pulls.get(int(number))
        return (200, self._request(at, row)) if row else self.NO_SUCH

    def label(self, at: Repository, asked: Asked, number: str) -> Reply:
        if int(number) not in at.pulls:
            return self.NO_SUCH
        self.state.label(at, int(number), asked.body["add_labels"].split(","))
        return self.one(at, asked, number)

    def merge(self, at: Repository, asked: Asked, number: str) -> Reply:
        how, row = self.state.merge(at, int(number), asked.query.get("sha"))
        if how == "merged" and row:
            return 200, self._request(at, row)
        return {
            "missing": self.NO_SUCH,
            "moved": (409, {"message": "SHA does not match HEAD of source branch: 0"}),
            "already": (405, {"message": "405 Method Not Allowed"}),
            "closed": (405, {"message": "405 Method Not Allowed"}),
        }[how]

    def say(self, at: Repository, asked: Asked, number: str) -> Reply:
        if int(number) not in at.pulls:
            return self.NO_SUCH
        return 201, self.state.say(at, int(number), asked.body["body"])

    def notes(self, at: Repository, asked: Asked, number: str) -> Reply:
        return 200, asked.page(self.state.visible(at.comments.get(int(number), [])))

    def post(self, at: Repository, asked: Asked, sha: str) -> Reply:
        given = {**asked.body, "context": asked.body["name"]}
        return 201, named(self.state.post(at, sha, given))

    def statuses(self, at: Repository, asked: Asked, sha: str) -> Reply:
        return 200, asked.page([named(one) for one in self.state.visible(at.statuses.get(sha, []))][::-1])

    def _request(self, at: Repository, row: Row) -> Row:
        stands = "merged" if row["merged_at"] else {"open": "opened"}.get(row["state"], row["state"])
        return {
            "id": 100_000 + row["number"],
            "iid": row["number"],
            "project_id": 7,
            "source_project_id": 7,
            "target_project_id": 7,
            "title": row["title"],
            "description": row["body"],
            "state": stands,
            "source_branch": row["head"],
            "target_branch": row["base"],
            "sha": row["head_sha"],
            "merge_commit_sha": row["merge_sha"],
            "squash_commit_sha": None,
            "labels": at.labels.get(row["number"], []),
            "draft": row["draft"],
            "web_url": f"https://gitlab.com/{at.full_name}/-/merge_requests/{row['number']}",
        }


class Hook:
    """A webhook's receiver, which can be asked for a delivery."""

    def __init__(self, state: State) -> None:
        self.state = state

    def route(self, asked: Asked) -> Route | None:
        if asked.path.startswith("/delivery/") and asked.method == "GET":
            delivery = asked.path.removeprefix("/delivery/")
            there = self.state.deliveries.get(delivery)
            seen = there is not None and bool(self.state.visible([there]))
            return "find_http", lambda: (200 if seen else 404, {"delivery": delivery, "received": seen})
        if asked.path.startswith("/hook") and asked.method in {"POST", "PUT", "PATCH"}:
            return "http", lambda: self._received(asked)
        return None

    def _received(self, asked: Asked) -> Reply:
        if asked.path.endswith("/missing"):
            return 404, {"message": "nobody here"}
        self.state.receive(asked.delivery, asked.path)
        return 202, {"received": True}


class Account:
    """Whose token it is; of any token, and without one, the same account."""

    def __init__(self, url: str) -> None:
        self.answers = {
            "/user": shapes.user(url),
            "/api/v1/user": {"id": 1, "login": shapes.LOGIN, "username": shapes.LOGIN},
            "/api/v4/user": {"id": 1, "username": shapes.LOGIN, "state": "active"},
        }

    def route(self, asked: Asked) -> Route | None:
        answer = self.answers.get(asked.path)
        if answer is None or asked.method != "GET":
            return None
        return "account", lambda: (200, answer)


def duplicate(full_name: str, given: Row) -> Reply:
    owner = full_name.split("/", maxsplit=1)[0]
    error = {
        "resource": "PullRequest",
        "code": "custom",
        "message": f"A pull request already exists for {owner}:{given.get('head', '')}.",
    }
    return 422, shapes.problem("Validation Failed", 422, [error])


def said(row: Row) -> Row:
    return {
        "id": row["id"],
        "status": row["state"],
        "context": row["context"],
        "target_url": row["target_url"] or "",
        "description": row["description"] or "",
        "url": "",
    }


def named(row: Row) -> Row:
    return {
        "id": row["id"],
        "status": row["state"],
        "name": row["context"],
        "target_url": row["target_url"],
        "description": row["description"],
    }
