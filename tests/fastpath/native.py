"""A mark for tests of the native code itself, which an installation without it skips."""

import pytest

from tsproxy import fastpath

needs_native = pytest.mark.skipif(not fastpath.IS_AVAILABLE, reason="no native code here")
