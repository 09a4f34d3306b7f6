"""A disk in memory that loses what was not synced, tears pages, fills up and fails, under the real SQLite."""
