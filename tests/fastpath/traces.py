"""All that the fast path does with a conversation that a seed makes, as a list of values."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.fastpath.conversations import LIMITS, TOPICS, Scene
from tests.session.conversation import PEER, id_of
from tsproxy import fastpath
from tsproxy.decisions.totals import key_of
from tsproxy.fastpath import Rejection
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import Mode
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import TopicLimits, reason_out_of_range
from tsproxy.model.view import SessionLimits
from tsproxy.session.budget import DecompressionBudget
from tsproxy.session.requests import RELAYED
from tsproxy.wire.record_batch import for_nothing, read_small

Buffer = Callable[[bytes], Any]
"""Makes the buffer that the fast path is given: `bytes`, or one that ends exactly where its bytes end."""


def trace(seed: int, buffer: Buffer = bytes, turns: int = 25) -> list[object]:
    """The forwarded bytes, the requests in flight and the counts; frames that are not forwarded are
    skipped."""
    scene = Scene(Random(seed))
    in_flight = fastpath.InFlight(lambda forwarded: forwarded)
    requests = fastpath.RequestFilter(in_flight, RELAYED, 5_000, 300, DecompressionBudget)
    answers = fastpath.AnswerFilter(in_flight)
    rejecter = fastpath.Rejecter(requests)
    seen: list[object] = []

    def client(data: bytes) -> None:
        most = scene.random.choice([1, 100, 100])
        requests.is_open, start = True, 0
        if scene.wrong_clocks:
            seen.extend(in_flight.clear())
            in_flight.streaming = 0
            scene.answers.clear()
        while start < len(data):
            size, answers_of_ours, throttle_ms = rejecter.reject(buffer(data[start:]), scene.now_ms)
            seen.append((size, answers_of_ours, throttle_ms, in_flight.answered))
            if size == 0:
                break
            start += size
        data = data[start:]
        start = 0
        if scene.chance(30):
            requests.is_open = scene.chance(90)
            requests.most_in_flight = len(in_flight) + most
            start = requests.forward_read(buffer(data), scene.now_ms)
            scene.broker_reads(data[:start])
            seen.extend(
                [start, requests.awaits_more(buffer(data[start:])), requests.awaits_more(buffer(data))]
            )
        while start is not None:
            end = requests.forward_buffered(buffer(data), start, most, scene.now_ms, DecompressionBudget())
            scene.broker_reads(data[start:end])
            seen.append(end)
            start = _next_frame(data, end)

    def broker(data: bytes) -> None:
        start = 0
        if scene.chance(30):
            answers.is_open = scene.chance(90)
            start = answers.forward_read(buffer(data))
            seen.extend([start, in_flight.streaming])
        if in_flight.streaming:  # its end stays, at least
            left = min(in_flight.streaming, len(data) - start)
            in_flight.streaming, start = in_flight.streaming - left, start + left
            if not in_flight.streaming:
                in_flight.pop()
        while start is not None:
            end = answers.forward_buffered(buffer(data), start)
            start = _next_frame(data, end)
            seen.append(end)
            if start is not None and len(in_flight):
                seen.append(in_flight.head())
                in_flight.pop()

    for _ in range(turns):
        if requests.table is None or scene.chance(10):
            requests.table = _table(scene)
        scene.now_ms += scene.random.choice([0, 1, 1000])
        client(_cut(scene, b"".join(scene.request() for _ in range(scene.random.randint(1, 6)))))
        if scene.chance(5):
            in_flight.push("a slot of the session's own")
        if scene.chance(70):
            broker(_cut(scene, bytes(scene.answers)))
            scene.answers.clear()
        if scene.chance(3):
            seen += in_flight.clear()
            in_flight.streaming = 0
        seen += [len(in_flight), in_flight.own_head(), in_flight.last(), requests.table.in_flight]
        seen += requests.table.drain() if scene.chance(20) else []
    return [*seen, *in_flight.clear(), *requests.table.drain(), requests.table.in_flight]


def _read_compressed(
    codec_id: int, body: memoryview, base_timestamp: int, count: int, limits: TopicLimits | None, _: object
) -> RecordFacts | None:
    """The facts that the session reads for the fast path; it leaves some unread."""
    if len(body) % 8 == 7:
        return None
    is_recompressed = limits is not None and limits.before_max_ms == 0
    return read_small(codec_id, body, base_timestamp, count, SessionLimits(), is_recompressed, for_nothing)


def _table(scene: Scene) -> Any:
    pick = Random(scene.now_ms)
    peer = replace(PEER, client_id=scene.client_id)
    table = fastpath.Table(
        peer,
        scene.transactional_id,
        scene.random.choice([3, 1000]),
        _read_compressed,
        (lambda batches, size, _: (batches + size) % 3 or None) if pick.randrange(2) else None,
        scene.names_ids,
    )
    for topic in TOPICS[: scene.random.choice([1, 3, 3, 4])]:
        limits = scene.random.choice(LIMITS)
        topic_id = id_of(topic) if scene.names_ids else None
        table.add(topic, limits, limits.before_max_ms, limits.after_max_ms, topic_id)
        for lowest_ms, highest_ms in ((LONG_MIN, scene.now_ms - 1), (scene.now_ms, LONG_MAX)):
            if limits.is_limited and pick.randrange(4):
                rejection = _rejection(topic, limits, lowest_ms, highest_ms, scene.now_ms, pick)
                table.repeat(replace(rejection, topic_id=topic_id))
    return table


def _rejection(
    topic: str, limits: TopicLimits, lowest_ms: int, highest_ms: int, now_ms: int, pick: Random
) -> Rejection:
    reason = reason_out_of_range(highest_ms, now_ms)
    return Rejection(
        topic=topic,
        limits=replace(limits, max_message_bytes=pick.choice([300, 1_000_000])),
        lowest_ms=lowest_ms,
        highest_ms=highest_ms,
        from_ms=now_ms,
        until_ms=now_ms + pick.choice([1, 5_000]),
        key=key_of(
            PEER,
            topic,
            VerdictName.REJECTED,
            reason=reason,
            error_code=pick.choice([32, 87]),
            rule="topic-limits",
            mode=Mode.ENFORCE,
        ),
        error_message=pick.choice(["", "rejected", "ü" * 200]),
        culprits_listed=(3, 10_000)[now_ms % 2],
    )


def _cut(scene: Scene, data: bytes) -> bytes:
    return data[: scene.random.randint(0, len(data))] if scene.chance(10) else data


def _next_frame(data: bytes, start: int) -> int | None:
    """The start of the frame that follows the one at `start`; None if that one is not whole."""
    end = start + 4 + int.from_bytes(data[start : start + 4], "big")
    return end if start + 4 <= len(data) and end <= len(data) else None
