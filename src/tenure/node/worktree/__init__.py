"""The node's store of repositories: cached clones, a worktree per Attempt, evidence, clean-up."""
