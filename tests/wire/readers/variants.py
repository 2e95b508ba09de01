"""The readers, and the reference in plain Python that they are compared with: each test runs on both."""

from types import ModuleType

from tests.wire.readers import reference
from tsproxy.wire import readers as native

VARIANTS: tuple[ModuleType, ...] = (reference, native)


def name_of(variant: ModuleType) -> str:
    return "native" if variant is native else "reference"
