"""How the API's description shows what the library has no word for."""

from __future__ import annotations

from typing import Any

from litestar.openapi.spec import Schema
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition
from msgspec import Raw


class RawSchemaPlugin(OpenAPISchemaPlugin):
    """JSON that is passed on as it is: anything."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return value is Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        return Schema(description="Any JSON value.")
