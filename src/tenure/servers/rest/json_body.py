"""Bodies in: read within the bound, then decoded by `wire.codec`, strictly.

Litestar streams a body and stops at the bound (`request_max_body_size`). It hands the bytes to a data-transfer
object; this one is the codec, so that nesting is measured before anything is decoded and a wrong type is never
coerced."""

# ruff: noqa: ARG003 - the framework's signatures
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from litestar.connection import Request
from litestar.dto import AbstractDTO, DTOConfig
from litestar.exceptions import HTTPException
from litestar.openapi.spec import Reference, Schema
from litestar.typing import FieldDefinition

from tenure.errors import InvalidError
from tenure.wire.codec import decode, refuse_repeated_names

T = TypeVar("T")

UNSUPPORTED = 415

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_JSON = re.compile(r"application/json(\s*;\s*charset=\"?utf-8\"?)?\s*", re.IGNORECASE)


class LegBody(AbstractDTO[T]):
    """A body that is the JSON of one Struct. An empty body counts as `{}`."""

    config = DTOConfig()
    kinds: ClassVar[dict[str, Any]] = {}
    """The Struct of each handler, by the handler's id."""

    def __init__(self, asgi_connection: Any) -> None:
        super().__init__(asgi_connection)  # pyright: ignore[reportUnknownMemberType] - untyped in the library
        self._request: Request[Any, Any, Any] = asgi_connection

    def decode_bytes(self, value: bytes) -> Any:
        if value:
            refuse_other_types(self._request.headers.get("content-type", ""))
        kind = self.kinds[self._request.route_handler.handler_id]
        body = decode(kind, value or b"{}", len(value) + 2)
        refuse_repeated_names(value or b"{}")
        return body

    @classmethod
    def create_for_field_definition(
        cls, field_definition: FieldDefinition, handler_id: str, backend_cls: Any = None
    ) -> None:
        cls.kinds[handler_id] = field_definition.annotation

    @classmethod
    def create_openapi_schema(
        cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any
    ) -> Reference | Schema:
        return schema_creator.for_field_definition(field_definition)

    @classmethod
    def generate_field_definitions(cls, model_type: type[Any]) -> Any:
        nothing: Iterator[Any] = iter(())
        return nothing

    @classmethod
    def detect_nested_field(cls, field_definition: FieldDefinition) -> bool:
        return False


class JsonBody(LegBody[T]):
    """A body from a person or program. On the legs the output of programs is among it, NUL characters and all;
    here they are refused."""

    def decode_bytes(self, value: bytes) -> Any:
        if _NUL.search(value):
            raise InvalidError(
                "a text in the body has a NUL character (\\u0000), which no text here may have."
            )
        return super().decode_bytes(value)


def refuse_other_types(content_type: str) -> None:
    """Refuse a body that is not said to be JSON in UTF-8.

    Raises:
        HTTPException: it is said to be something else.
    """
    if not _JSON.fullmatch(content_type):
        raise HTTPException(
            f"the body is said to be {content_type[:100]!r}; send JSON as `Content-Type: application/json`.",
            status_code=UNSUPPORTED,
        )
