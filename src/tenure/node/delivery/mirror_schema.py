"""The tables of the node's store, and the steps that bring an older file up to date.

A migration only ever expands; a file of a newer schema is refused before anything in it is touched.
"""

from __future__ import annotations

SCHEMA = 2
"""Of the file. Raised with every change of the tables; older files are brought up step by step, by the daemon only."""

STEPS = (
    """
    CREATE TABLE identity (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        credential TEXT NOT NULL,
        was_sent INTEGER NOT NULL DEFAULT 0,
        node_id TEXT,
        generation INTEGER NOT NULL DEFAULT 0,
        incarnation TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE TABLE delivery (
        delivery_id TEXT PRIMARY KEY,
        attempt_id TEXT NOT NULL,
        body BLOB NOT NULL,
        stage TEXT NOT NULL DEFAULT 'mirrored' CHECK (stage IN ('mirrored', 'ended', 'closed')),
        outcome BLOB,
        handback TEXT,
        tree_gone INTEGER NOT NULL DEFAULT 0,
        answer TEXT,
        released INTEGER NOT NULL DEFAULT 0,
        CHECK (stage <> 'ended' OR (outcome IS NULL) <> (handback IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER body_is_frozen BEFORE UPDATE OF delivery_id, attempt_id, body ON delivery
    BEGIN SELECT RAISE(ABORT, 'a mirrored Delivery never changes'); END;
    """,
    """
    CREATE TABLE counted (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        commits INTEGER NOT NULL
    ) STRICT;
    INSERT INTO counted (only, commits) VALUES (1, 0);
    """,
)
"""Step n brings a file of schema n to schema n + 1."""
