"""Sessions that threads judge, with native code: none crashes, whenever its connection ends."""

import pytest

from tests.fastpath.judged_in_threads import judged_in_threads

pytestmark = pytest.mark.slow


def test_sessions_that_threads_judge_may_end_at_any_moment():
    assert judged_in_threads(100) > 200
