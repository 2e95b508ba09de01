"""`tsproxy scan` asks every leader of a cluster."""

import time

from tests.offline.commands import tsproxy
from tests.offline.test_scan import DAY_MS, fill, scan


async def test_every_leader_is_asked_and_one_that_is_gone_costs_its_own_partitions_alone(
    three_brokers, topic, capsys
):
    now_ms = time.time_ns() // 1_000_000
    await fill(three_brokers, topic, [[now_ms + DAY_MS]] * 6)
    whole = (await scan(capsys, three_brokers, topic, "--json")).json
    await three_brokers.kill_node(3)
    gated = await tsproxy(
        capsys,
        *("scan", "--upstream", three_brokers.bootstrap_servers, "--topics", topic),
        *("--json", "--fail-on", "expired"),
    )
    await three_brokers.start_node(3)

    assert {one["partition"] for one in whole["findings"]} == set(range(6))
    found, unread = gated.json["findings"], gated.json["unread"]
    assert (len(found), len(unread), gated.status) == (4, 2, 1)
    assert all(one["why"] for one in unread)
