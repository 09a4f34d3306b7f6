"""What a machine without a settings file offers: one recipient that runs any program a task brings."""

from __future__ import annotations

import os

from tenure.runtime.settings import RecipientSettings, Settings

NAME = "local"


def default_recipients() -> tuple[RecipientSettings, ...]:
    """One recipient, with room for as many runs as there are processors."""
    return (RecipientSettings(name=NAME, allow_command=True, capacity=os.cpu_count() or 1),)


def recipients_of(settings: Settings) -> tuple[RecipientSettings, ...]:
    """The recipients of this machine: those of the settings, else the default one."""
    return settings.recipients or default_recipients()


def recipient_for_command(settings: Settings) -> str:
    """Where a task with a command of its own goes when nobody says where."""
    if settings.defaults.to:
        return settings.defaults.to
    for recipient in recipients_of(settings):
        if recipient.allow_command:
            return recipient.name
    return NAME
