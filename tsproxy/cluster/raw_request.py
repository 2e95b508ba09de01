"""Requests over aiokafka's connection in versions that aiokafka does not support: `raw_api`.

aiokafka only builds the frame. `wire` defines the layout.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Schema

from tsproxy.model.kafka import ApiKey


def raw_api(api_key: ApiKey, version: int, name: str) -> Callable[[bytes], Any]:
    """A function that makes a request from a body. The answer to that request has the received `body`. The
    version must be a flexible version; `name` is for error texts."""

    class Answer(Response):  # type: ignore[misc]  # aiokafka carries no types
        API_KEY = api_key
        API_VERSION = version
        SCHEMA = Schema()

        def __init__(self, body: bytes) -> None:
            super().__init__()
            self.body = body

        @classmethod
        def decode(cls, data: BytesIO) -> "Answer":
            return cls(data.read())

    class Struct(RequestStruct):  # type: ignore[misc]  # aiokafka carries no types
        API_KEY = api_key
        API_VERSION = version
        FLEXIBLE_VERSION = True
        RESPONSE_TYPE = Answer
        SCHEMA = Schema()

        def __init__(self, body: bytes) -> None:
            super().__init__()
            self._body = body

        def encode(self) -> bytes:
            return self._body

    class Raw(Request[Struct]):  # type: ignore[misc]  # aiokafka carries no types
        API_KEY = api_key

        def __init__(self, body: bytes) -> None:
            self._body = body

        def build(self, request_struct_class: type[Struct]) -> Any:
            return request_struct_class(self._body)

        def __str__(self) -> str:
            return name

    return Raw
