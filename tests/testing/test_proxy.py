"""`RunningProxy` without a client: its decision log has the heartbeats of a start and of a stop."""

import os
import signal

import pytest

from tsproxy.testing.proxy import ProxyError, RunningProxy


@pytest.fixture
def upstream(kafka_440):
    return kafka_440.bootstrap_servers


async def test_after_a_stop_the_log_is_complete(upstream):
    async with RunningProxy(upstream) as proxy:
        assert await proxy.stop() == 0
        lines = proxy.decisions()
    assert (lines[-1]["event"], lines[-1]["kind"]) == ("lifecycle", "stop")
    assert proxy.decisions() == lines


async def test_after_a_kill_the_whole_lines_are_there(upstream, tmp_path):
    async with RunningProxy(upstream, decisions=tmp_path) as proxy:
        await proxy.kill()
        (file,) = tmp_path.glob("decisions-*.jsonl*")
        whole = proxy.decisions()
        with file.open("a") as torn:
            torn.write('{"event": "heart')
        assert proxy.decisions() == whole
    assert proxy.decisions() == whole


async def killed_by_the_system(upstream):
    async with RunningProxy(upstream) as proxy:
        os.kill(proxy.pid, signal.SIGKILL)
        await proxy.wait()


async def test_a_proxy_that_fails_by_itself_raises_at_the_end_of_the_block(upstream):
    with pytest.raises(ProxyError, match="status -9"):
        await killed_by_the_system(upstream)
