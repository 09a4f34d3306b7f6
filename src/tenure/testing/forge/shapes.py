"""The public shapes of GitHub's REST answers, with every field that it documents.

`tests/providers/test_recorded_shapes.py` holds them against the models that githubkit generates from GitHub's own
description."""

from typing import Any

WEB = "https://github.com"
LOGIN = "quay-keeper"

_USER_ENDS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
_REPOSITORY_ENDS = {
    "forks_url": "/forks",
    "keys_url": "/keys{/key_id}",
    "collaborators_url": "/collaborators{/collaborator}",
    "teams_url": "/teams",
    "hooks_url": "/hooks",
    "issue_events_url": "/issues/events{/number}",
    "events_url": "/events",
    "assignees_url": "/assignees{/user}",
    "branches_url": "/branches{/branch}",
    "tags_url": "/tags",
    "blobs_url": "/git/blobs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "trees_url": "/git/trees{/sha}",
    "statuses_url": "/statuses/{sha}",
    "languages_url": "/languages",
    "stargazers_url": "/stargazers",
    "contributors_url": "/contributors",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "commits_url": "/commits{/sha}",
    "git_commits_url": "/git/commits{/sha}",
    "comments_url": "/comments{/number}",
    "issue_comment_url": "/issues/comments{/number}",
    "contents_url": "/contents/{+path}",
    "compare_url": "/compare/{base}...{head}",
    "merges_url": "/merges",
    "archive_url": "/{archive_format}{/ref}",
    "downloads_url": "/downloads",
    "issues_url": "/issues{/number}",
    "pulls_url": "/pulls{/number}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "labels_url": "/labels{/name}",
    "releases_url": "/releases{/id}",
    "deployments_url": "/deployments",
}


def user(api: str, login: str = LOGIN) -> dict[str, Any]:
    at = f"{api}/users/{login}"
    return {
        "login": login,
        "id": 41870023,
        "node_id": "MDQ6VXNlcjQxODcwMDIz",
        "avatar_url": "https://avatars.githubusercontent.com/u/41870023?v=4",
        "gravatar_id": "",
        "url": at,
        "html_url": f"{WEB}/{login}",
        **{name: at + end for name, end in _USER_ENDS.items()},
        "type": "User",
        "user_view_type": "public",
        "site_admin": False,
    }


def repository(api: str, full_name: str) -> dict[str, Any]:
    owner, name = full_name.split("/")
    at = f"{api}/repos/{full_name}"
    return {
        "id": 620184711,
        "node_id": "R_kgDOJPdkhw",
        "name": name,
        "full_name": full_name,
        "private": False,
        "owner": user(api, owner),
        "html_url": f"{WEB}/{full_name}",
        "description": "Counts what turns at the harbor's mouth",
        "fork": False,
        "url": at,
        **{one: at + end for one, end in _REPOSITORY_ENDS.items()},
        "created_at": "2024-05-06T08:00:12Z",
        "updated_at": "2026-02-27T17:41:55Z",
        "pushed_at": "2026-03-02T09:12:30Z",
        "git_url": f"git://github.com/{full_name}.git",
        "ssh_url": f"git@github.com:{full_name}.git",
        "clone_url": f"{WEB}/{full_name}.git",
        "svn_url": f"{WEB}/{full_name}",
        "mirror_url": None,
        "homepage": None,
        "size": 1284,
        "stargazers_count": 12,
        "watchers_count": 12,
        "language": "Python",
        "has_issues": True,
        "has_projects": True,
        "has_downloads": True,
        "has_wiki": True,
        "has_pages": False,
        "has_discussions": False,
        "has_pull_requests": True,
        "pull_request_creation_policy": "all",
        "forks_count": 1,
        "archived": False,
        "disabled": False,
        "open_issues_count": 3,
        "license": {
            "key": "apache-2.0",
            "name": "Apache License 2.0",
            "spdx_id": "Apache-2.0",
            "url": f"{api}/licenses/apache-2.0",
            "node_id": "MDc6TGljZW5zZTI=",
        },
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": ["harbor"],
        "visibility": "public",
        "forks": 1,
        "open_issues": 3,
        "watchers": 12,
        "default_branch": "main",
    }


def pull(api: str, full_name: str, one: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """`one`: number, title, body, state, draft, head, base, head_sha, base_sha, merged_at, merge_sha, closed_at.
    Lists leave out what only a single answer has (`whole`)."""
    number, owner = one["number"], full_name.split("/", maxsplit=1)[0]
    at, issue = f"{api}/repos/{full_name}/pulls/{number}", f"{api}/repos/{full_name}/issues/{number}"
    web, status = f"{WEB}/{full_name}/pull/{number}", f"{api}/repos/{full_name}/statuses/{one['head_sha']}"
    links = {
        "self": at,
        "html": web,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{at}/comments",
        "review_comment": f"{api}/repos/{full_name}/pulls/comments{{/number}}",
        "commits": f"{at}/commits",
        "statuses": status,
    }
    shape: dict[str, Any] = {
        "url": at,
        "id": 1_700_000_000 + number,
        "node_id": f"PR_kwDOJPdkh85b{number:06d}",
        "html_url": web,
        "diff_url": f"{web}.diff",
        "patch_url": f"{web}.patch",
        "issue_url": issue,
        "number": number,
        "state": one["state"],
        "locked": False,
        "title": one["title"],
        "user": user(api),
        "body": one["body"],
        "created_at": "2026-03-02T09:14:05Z",
        "updated_at": "2026-03-02T09:14:05Z",
        "closed_at": one["closed_at"],
        "merged_at": one["merged_at"],
        "merge_commit_sha": one["merge_sha"],
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": [],
        "milestone": None,
        "draft": one["draft"],
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": status,
        "head": branch(api, full_name, one["head"], one["head_sha"]),
        "base": branch(api, full_name, one["base"], one["base_sha"]),
        "_links": {name: {"href": href} for name, href in links.items()},
        "author_association": "MEMBER",
        "auto_merge": None,
        "active_lock_reason": None,
    }
    merged = one["merged_at"] is not None
    more = {
        "merged": merged,
        "mergeable": None if merged else True,
        "rebaseable": None if merged else True,
        "mergeable_state": "unknown" if merged else "clean",
        "merged_by": user(api, owner) if merged else None,
        "comments": 0,
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": 1,
        "additions": 12,
        "deletions": 3,
        "changed_files": 2,
    }
    return {**shape, **more} if whole else shape


def branch(api: str, full_name: str, ref: str, sha: str) -> dict[str, Any]:
    owner = full_name.split("/", maxsplit=1)[0]
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(api, owner),
        "repo": repository(api, full_name),
    }


def comment(api: str, full_name: str, number: int, one: dict[str, Any]) -> dict[str, Any]:
    at = f"{api}/repos/{full_name}/issues"
    return {
        "url": f"{at}/comments/{one['id']}",
        "html_url": f"{WEB}/{full_name}/pull/{number}#issuecomment-{one['id']}",
        "issue_url": f"{at}/{number}",
        "id": one["id"],
        "node_id": f"IC_kwDOJPdkh85{one['id']}",
        "user": user(api),
        "created_at": "2026-03-02T09:20:41Z",
        "updated_at": "2026-03-02T09:20:41Z",
        "body": one["body"],
        "author_association": "MEMBER",
        "reactions": {
            "url": f"{at}/comments/{one['id']}/reactions",
            "total_count": 0,
            **dict.fromkeys(
                ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"),
                0,
            ),
        },
        "performed_via_github_app": None,
    }


def label(api: str, full_name: str, name: str) -> dict[str, Any]:
    return {
        "id": 5_208_045_946 + len(name),
        "node_id": "LA_kwDOJPdkh88AAAABNmsDuQ",
        "url": f"{api}/repos/{full_name}/labels/{name}",
        "name": name,
        "color": "ededed",
        "default": False,
        "description": None,
        "archived_at": None,
        "archived_by": None,
    }


def status(api: str, full_name: str, sha: str, one: dict[str, Any]) -> dict[str, Any]:
    return {
        "url": f"{api}/repos/{full_name}/statuses/{sha}",
        "avatar_url": "https://avatars.githubusercontent.com/u/41870023?v=4",
        "id": one["id"],
        "node_id": f"SC_kwDOJPdkh88AAAAH{one['id']}",
        "state": one["state"],
        "description": one["description"],
        "target_url": one["target_url"],
        "context": one["context"],
        "created_at": "2026-03-02T09:21:07Z",
        "updated_at": "2026-03-02T09:21:07Z",
        "creator": user(api),
    }


def problem(message: str, status: int, errors: list[Any] | None = None) -> dict[str, Any]:
    more = {} if errors is None else {"errors": errors}
    return {
        "message": message,
        **more,
        "documentation_url": "https://docs.github.com/rest",
        "status": str(status),
    }
