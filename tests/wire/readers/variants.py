"""Both versions of the readers, so that each test runs on each."""

from types import ModuleType

from tsproxy.wire.readers import _python

try:
    from tsproxy.wire.readers import _native as native
except ImportError:
    native = None

VARIANTS: tuple[ModuleType, ...] = (_python,) if native is None else (_python, native)
"""The Python version alone if the native one was not built: `tests/fastpath/test_choice.py` says so."""


def name_of(variant: ModuleType) -> str:
    return variant.NAME
