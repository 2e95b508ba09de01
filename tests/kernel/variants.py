"""Both variants of the kernel, so that each test runs on each."""

from types import ModuleType

from tsproxy.wire.kernel import _twin

try:
    from tsproxy.wire.kernel import _native as native
except ImportError:
    native = None

VARIANTS: tuple[ModuleType, ...] = (_twin,) if native is None else (_twin, native)
"""The twin alone where the native kernel was not built: `tests/kernel/test_choice.py` says so."""


def name_of(variant: ModuleType) -> str:
    return variant.NAME
