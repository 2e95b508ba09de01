"""The salt: made once, readable by the proxy alone, the same for all who share the folder."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.config.files import SMALLEST, config_of
from tests.planted import traces
from tests.proxy.decision_log.logs import lines, names, settings_of
from tests.proxy.measured import ACCEPTED
from tsproxy.clock import Clock
from tsproxy.config.settings import Secret
from tsproxy.decisions import Redaction
from tsproxy.proxy.decision_log.salt import salt_of
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.startup import in_force, recorder_of


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


async def test_hashed_clients_stay_one_client_over_restarts_and_are_named_nowhere(tmp_path):
    privacy = "privacy: { addresses: hash, principals: drop }"
    config = config_of(SMALLEST + f"decisions: {{ directory: {tmp_path}, {privacy} }}\n")
    client = replace(ACCEPTED.peer, principal="User:alice-planted")
    for _ in range(2):
        recorder = recorder_of(config, None, Metrics(), Clock(), list, lambda: None)
        recorder.start(in_force(config))
        recorder.book(replace(ACCEPTED, peer=client))
        await recorder.stop()

    told = lines(tmp_path)
    seen = [line["addresses"] for line in told if line["event"] == "counters"]
    assert seen == [seen[0]] * 2
    assert traces(told, {"address": client.client_address, "principal": "alice-planted"}) == []
    [start, _] = [line for line in told if line.get("kind") == "start"]
    assert start["facts"]["privacy"] == {"addresses": "hash", "principals": "drop"}
