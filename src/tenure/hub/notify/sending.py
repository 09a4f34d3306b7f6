"""One message on its way, on a thread that nobody can end."""

from __future__ import annotations

from typing import final

from tenure.hub.notify.message import Message
from tenure.hub.pause import pause
from tenure.providers.notifier import Notifier

LOOK_S = 1.0


@final
class Sending:
    """Called on the thread. `went_out`: the notifier has come back without an error."""

    def __init__(self, notifier: Notifier, message: Message) -> None:
        self._notifier = notifier
        self._message = message
        self._has_begun = False
        self._is_over = False
        self.went_out = False

    def __call__(self) -> None:
        self._has_begun = True
        try:
            self._notifier.send(self._message.title, self._message.body)
            self.went_out = True
        finally:
            self._is_over = True

    async def over(self) -> None:
        """Wait until the thread is free again. A call that has not begun was canceled in its queue, and never will."""
        while self._has_begun and not self._is_over:
            await pause(LOOK_S)
