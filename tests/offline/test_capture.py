"""`tsproxy replay --capture`: the verdicts on captured requests are those of the proxy."""

import contextlib
import io
import time

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from tests.offline import captures
from tests.offline.captures import CLIENT, ethernet, pcap, pcapng, segment, stream
from tests.offline.commands import tsproxy
from tests.offline.demo_capture import demo
from tests.offline.documented import example
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.model.policy import LimitsFrom, Policy, RuleSettings, TimeLimit
from tsproxy.model.view import View
from tsproxy.offline.replay.capture import CaptureError, Packet, read_packets
from tsproxy.offline.replay.captured import Captured
from tsproxy.offline.replay.packets import UnknownLinkError
from tsproxy.offline.replay.tally import Tally

NOW_MS = 1_767_225_600_000
HOUR_MS = 3_600_000
CONFIG = ["--set", "policy.limits_from=config"]

VIEW = View(policy=Policy(limits_from=LimitsFrom.CONFIG, defaults=RuleSettings(after=TimeLimit(HOUR_MS))))
"""At most an hour ahead."""

GOOD, BAD = NOW_MS, NOW_MS * 1000
REQUESTS = [
    produce({"orders": {0: batch([GOOD, GOOD])}}, client_id="a"),
    produce({"orders": {1: batch([GOOD, BAD, GOOD])}}, client_id="b", acks=0),
    produce({"clicks": {0: batch([BAD])}, "orders": {0: batch([GOOD])}}, client_id="a", version=3),
]
EXPECTED = {("orders", "a"): (3, 0, 0), ("orders", "b"): (3, 3, 1), ("clicks", "a"): (1, 1, 1)}
"""(records, rejected with their batch, at fault)"""


def judged(packets, view=VIEW):
    captured, tally = Captured(view, frozenset({9092})), Tally()
    for outcome in captured.outcomes(packets):
        tally.add(outcome)
    found = {
        key: (line.records, line.rejected_records, line.bad_records) for key, line in tally.lines.items()
    }
    return captured, found


def packets_of(entries):
    return [Packet(at_ms, captures.ETHERNET, data, is_cut=False) for at_ms, data, _ in entries]


async def test_every_topic_and_client_gets_the_judges_counts(tmp_path, capsys):
    file = tmp_path / "traffic.pcap"
    file.write_bytes(pcap(stream(REQUESTS, NOW_MS)))

    found = (await tsproxy(capsys, "replay", *CONFIG, "--capture", file, "--json")).json

    lines = {
        (line["topic"], line["client_id"]): (line["records"], line["rejected_records"], line["bad_records"])
        for line in found["lines"]
    }
    assert lines == EXPECTED
    assert found["lines"][0]["units"] == {"microseconds": 1}
    assert (found["requests"], found["connections"], found["lost_bytes"]) == (3, 1, 0)


async def test_the_documented_example_prints_what_the_document_shows(tmp_path, capsys, monkeypatch):
    (tmp_path / "traffic.pcap").write_bytes(demo())
    monkeypatch.chdir(tmp_path)
    arguments, shown = example("replay")

    assert (await tsproxy(capsys, *arguments)).out == shown


@given(st.lists(st.integers(1, 2000), max_size=8), st.randoms(use_true_random=False), st.booleans())
def test_segments_cut_anywhere_in_any_order_and_twice_give_the_same_verdicts(cut, random, wraps):
    opening, *rest = stream(REQUESTS, NOW_MS, cut, first=2**32 - 100 if wraps else 1000)
    rest += random.sample(rest, len(rest) // 2)
    random.shuffle(rest)

    captured, found = judged(packets_of([opening, *rest]))

    assert found == EXPECTED
    assert captured.lost_bytes == 0


FORMATS = {
    "pcap": lambda packets: pcap(packets),
    "pcap, big-endian": lambda packets: pcap(packets, order=">"),
    "pcap, nanoseconds": lambda packets: pcap(packets, in_ns=True),
    "pcapng": lambda packets: pcapng(packets),
    "pcapng, big-endian": lambda packets: pcapng(packets, order=">"),
}


@pytest.mark.parametrize("written", FORMATS.values(), ids=FORMATS)
def test_every_format_gives_packets_and_their_times(written, tmp_path):
    file = tmp_path / "capture"
    file.write_bytes(written([(NOW_MS + 7, b"one", 9), (NOW_MS + 8, b"another", None)]))

    with file.open("rb") as opened:
        assert list(read_packets(opened)) == [
            Packet(NOW_MS + 7, 1, b"one", is_cut=True),
            Packet(NOW_MS + 8, 1, b"another", is_cut=False),
        ]


def on(link, head):
    return lambda packet: Packet(NOW_MS, link, head + packet, is_cut=False)


LINKS = {
    "Ethernet": lambda packet: Packet(NOW_MS, 1, ethernet(packet), is_cut=False),
    "two VLAN tags": lambda packet: Packet(
        NOW_MS, 1, ethernet(packet, b"\x88\xa8\x00\x01\x81\x00\x00\x02"), is_cut=False
    ),
    "loopback": on(0, b"\x02\0\0\0"),
    "raw": on(101, b""),
    "Linux any": on(113, bytes(16)),
    "Linux any, version 2": on(276, bytes(20)),
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::7"])
def test_every_link_layer_and_both_kinds_of_ip_lead_to_the_request(link, address):
    broker = ("fd00::1" if ":" in address else "10.0.0.1", 9092)
    packets = [link(segment(REQUESTS[0], client=(address, 5000), broker=broker))]

    assert judged(packets)[1] == {("orders", "a"): (2, 0, 0)}


def test_a_capture_that_begins_within_a_request_is_taken_up_with_the_next():
    data = [REQUESTS[0][50:], *REQUESTS[1:]]
    packets, sequence = [], 77
    for payload in data:
        packets.append(Packet(NOW_MS, 101, segment(payload, sequence), is_cut=False))
        sequence += len(payload)

    captured, found = judged(packets)

    assert found == {key: EXPECTED[key] for key in EXPECTED} | {("orders", "a"): (1, 0, 0)}
    assert captured.lost_bytes == len(data[0])


@pytest.mark.parametrize("lost", range(3))
def test_a_packet_that_the_capture_lost_costs_its_request_alone(lost):
    packets, sequence = [], 1000
    for number, payload in enumerate(REQUESTS):
        if number != lost:
            packets.append(Packet(NOW_MS, 101, segment(payload, sequence), is_cut=False))
        sequence += len(payload)

    captured, found = judged(packets)

    records = sum(counts[0] for counts in found.values())
    assert records == sum(counts[0] for counts in EXPECTED.values()) - [2, 3, 2][lost]
    # Nobody can see losses before the first packet or after the last.
    assert captured.lost_bytes == (len(REQUESTS[1]) if lost == 1 else 0)


def test_a_packet_of_which_not_all_was_kept_costs_its_request_alone():
    packets, sequence = [], 1000
    for payload, kept in zip(REQUESTS, [None, 60, None], strict=True):
        packets.append(Packet(NOW_MS, 101, segment(payload, sequence, kept=kept), is_cut=kept is not None))
        sequence += len(payload)

    captured, found = judged(packets)

    assert ("orders", "b") not in found
    assert ("clicks", "a") in found
    assert captured.lost_bytes == len(REQUESTS[1])


def test_what_goes_to_other_ports_is_not_looked_at():
    packet = segment(REQUESTS[0], broker=("10.0.0.1", 5432))

    captured, found = judged([Packet(NOW_MS, 101, packet, is_cut=False)])

    assert (captured.connections, found) == (0, {})


@given(st.binary(max_size=400), st.integers(0, 4000), st.sampled_from(sorted(FORMATS)))
def test_a_damaged_file_is_an_error_of_the_file_or_its_undamaged_part(garbage, at, name):
    whole = FORMATS[name](stream(REQUESTS, NOW_MS, [100, 300]))
    damaged = whole[: at % len(whole)] + garbage + whole[at % len(whole) + len(garbage) :]
    with contextlib.suppress(CaptureError, UnknownLinkError):
        judged(read_packets(io.BytesIO(damaged)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GET / HTTP/1.1", "is neither a pcap nor a pcapng file"),
        (pcap([(NOW_MS, b"data", None)])[:-1], "ends within a packet"),
        (pcap([(NOW_MS, b"data", None)], link=147), "has packets of link type 147"),
        (None, "No such file"),
    ],
)
async def test_a_file_that_cannot_be_read_is_a_sentence_and_status_1(content, words, tmp_path, capsys):
    file = tmp_path / "traffic.pcap"
    if content is not None:
        file.write_bytes(content)

    result = await tsproxy(capsys, "replay", *CONFIG, "--capture", file)

    assert result.status == 1
    assert words in result.err
    assert "Traceback" not in result.err


@pytest.mark.skipif(not captures.may_listen(), reason="captures packets: needs Linux and CAP_NET_RAW")
async def test_a_capture_beside_a_real_broker_is_rejected_what_the_broker_rejected(
    kafka_431, topic, tmp_path, capsys
):
    """Limits come from the broker's own topic; the producer says what the broker did."""
    await kafka_431.create_topic(topic, config={"message.timestamp.before.max.ms": str(24 * HOUR_MS)})
    now_ms = time.time_ns() // 1_000_000
    times = [now_ms, now_ms * 1000, now_ms // 1000, now_ms - HOUR_MS, now_ms + 2 * HOUR_MS, -1]
    port = kafka_431.bootstrap_servers.rpartition(":")[2]
    rejected = 0
    with captures.loopback(lambda: time.time_ns() // 1_000_000) as packets:
        async with AIOKafkaProducer(
            bootstrap_servers=kafka_431.bootstrap_servers, client_id="app"
        ) as producer:
            for timestamp_ms in times:
                try:
                    await producer.send_and_wait(topic, b"value", timestamp_ms=timestamp_ms)
                except KafkaError:
                    rejected += 1
    file = tmp_path / "lo.pcap"
    file.write_bytes(pcap(packets))

    result = await tsproxy(
        capsys,
        "replay",
        "--upstream",
        kafka_431.bootstrap_servers,
        "--capture",
        file,
        "--ports",
        port,
        "--json",
    )

    (line,) = [line for line in result.json["lines"] if line["topic"] == topic]
    assert (line["client_id"], line["records"]) == ("app", len(times))
    assert (line["rejected_batches"], rejected) == (3, 3)
    assert CLIENT[0] not in result.out
