"""A configuration that is shown reads as the one that is in force."""

import pytest

from tsproxy.config.kinds import HIDDEN, SECRET
from tsproxy.config.tree import KEYS

WITH_DEFAULT = [key for key in KEYS if key.default is not None]


@pytest.mark.parametrize("key", WITH_DEFAULT, ids=[key.path for key in WITH_DEFAULT])
def test_a_default_is_written_as_a_text_that_reads_the_same(key):
    value = key.kind.parse(key.default)

    assert key.kind.parse(str(key.kind.write(value))) == value


def test_a_secret_is_never_written():
    assert SECRET.write(SECRET.parse("hunter2")) == HIDDEN
