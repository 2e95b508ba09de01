"""The salt: made once, readable by the proxy alone, the same for all who share the folder."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.proxy.decision_log.logs import names, settings_of
from tsproxy.config.settings import Secret
from tsproxy.decisions import Redaction
from tsproxy.proxy.decision_log.salt import salt_of


def hashing(folder, **more):
    return replace(settings_of(folder), **({"addresses": Redaction.HASH} | more))


def test_where_nothing_is_hashed_there_is_none_and_a_configured_one_is_taken(tmp_path):
    assert salt_of(settings_of(tmp_path)) == b""
    assert salt_of(hashing(tmp_path, salt=Secret("pepper"))) == b"pepper"
    assert names(tmp_path) == []


def test_it_is_made_once_and_nobody_else_may_read_it(tmp_path):
    folder = tmp_path / "new"
    first, again = (
        salt_of(hashing(folder)),
        salt_of(hashing(folder, addresses=Redaction.KEEP, principals=Redaction.HASH)),
    )
    assert first == again
    assert len(first) == 32
    assert stat.S_IMODE((folder / ".salt").stat().st_mode) == 0o600


def test_workers_that_start_together_agree(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        salts = set(pool.map(lambda _: salt_of(hashing(tmp_path)), range(64)))
    assert len(salts) == 1
    assert names(tmp_path) == [".salt"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        salt_of(hashing(tmp_path / "file"))
