"""A forge for tests: a process of its own that speaks the REST APIs of GitHub, Gitea and GitLab, and breaks as told."""
