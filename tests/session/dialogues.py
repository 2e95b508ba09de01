"""Whole dialogues for properties: what a client sends, what a broker would answer, and in which pieces
both arrive.

The broker here is a function from a request to its answer, so that the same requests get the same
answers however they arrive.
"""

import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

from rigs.simulated.history import History, stored
from rigs.simulated.requests import Kind, any_request
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    METADATA,
    PRODUCE,
    answer,
    cut_frames,
)
from tests.wire.fetched import fetched, partition
from tsproxy.model.outcome import Outcome
from tsproxy.session.effects import CloseSession, Emit, Judge, SendToBroker, SendToClient
from tsproxy.wire.headers import read_request_header

NODE = b"\x00\x00\x00\x01" + b"\x00\x02b1" + struct.pack(">i", 9092)


def _asked(draws, correlation_id):
    """A request of the simulated clients whose batches are all good or bad, whatever the limits."""
    while True:
        asked = any_request(draws, correlation_id, "app", "mixed", draws.choice((-1, 1, 0)))
        if all(each.kind is not Kind.EITHER for each in asked.batches.values()):
            return asked


def _history(seed):
    """The requests of one client, one after the other."""
    draws, history, end = Random(seed), History(1, "app"), 0
    for correlation_id in range(draws.randint(0, 8)):
        history.asked.append(one := _asked(draws, correlation_id))
        one.ends_at = end = end + len(one.frame)
    return history


dialogues = st.integers(0, 2**32 - 1).map(_history)


# -- What a broker answers --------------------------------------------------------------------------


def frames_of(data):
    """The frames in `data`, and what is left behind the last one."""
    left = bytearray(data)
    return list(cut_frames(left)), bytes(left)


def answer_to(asked):
    """A broker's answer to the request in `asked`; nothing for acks=0."""
    header = read_request_header(asked[4:])
    if header.api_key == PRODUCE:
        return stored(asked)
    bodies = {
        METADATA: b"\x00\x00\x00\x01" + NODE + bytes(4),
        FIND_COORDINATOR: b"\x00\x00" + NODE,
        API_VERSIONS: struct.pack(">hi6h", 0, 2, 0, 0, 13, 77, 0, 99),
        FETCH: fetched([partition(b"records")]) if header.api_version == 18 else bytes(50),
    }
    body = bodies.get(header.api_key, b"\x00\x00")
    return answer(header.api_key, header.api_version, body, header.correlation_id)


# -- In which pieces --------------------------------------------------------------------------------

pieces = st.lists(st.tuples(st.booleans(), st.integers(1, 120)), max_size=60)
"""(whether the client's bytes are next, how many of them); what is left then comes whole."""


@dataclass
class Told:
    """The result of a dialogue. `most_unanswered`: how many answers the broker owed at most."""

    to_broker: bytes = b""
    to_client: bytes = b""
    outcomes: list[Outcome] = field(default_factory=list)
    effects: list = field(default_factory=list)
    is_closed: bool = False
    most_unanswered: int = 0
    job: Callable | None = None
    """The batches that wait for a judge."""

    def note(self, effects):
        """Take down the effects; returns the bytes that are for the broker."""
        sent = b"".join(effect.data for effect in effects if isinstance(effect, SendToBroker))
        self.effects += effects
        jobs = [effect.job for effect in effects if isinstance(effect, Judge)]
        assert len(jobs) + (self.job is not None) <= 1, "one at a time"
        self.job = jobs[0] if jobs else self.job
        self.to_broker += sent
        self.to_client += b"".join(effect.data for effect in effects if isinstance(effect, SendToClient))
        self.outcomes += [effect.outcome for effect in effects if isinstance(effect, Emit)]
        self.is_closed |= any(isinstance(effect, CloseSession) for effect in effects)
        return sent

    def by_batch(self):
        """Outcomes in an order that does not depend on when each was booked."""
        return sorted(self.outcomes, key=lambda o: (o.correlation_id, o.topic, o.partition))


class Pending:
    """Bytes that wait to be said."""

    def __init__(self, *frames):
        self.frames = deque(frames)

    def take(self, most):
        taken = b""
        while self.frames and len(taken) < most:
            frame, room = self.frames.popleft(), most - len(taken)
            taken += frame[:room]
            if len(frame) > room:
                self.frames.appendleft(frame[room:])
        return taken


WHOLE = 1 << 30


def held(sent, schedule=(), **limits):
    """Let `sent` be said in these pieces, answers in theirs; then both sides until nothing is left.

    A batch that is judged apart is done when the client's turn comes. The client's further bytes come behind
    it.
    """
    session, told = Session(PEER, view_of(nodes=[1], **limits)), Told()
    from_client, from_broker, at_broker = Pending(sent), Pending(), b""
    steps = iter(schedule)
    while (from_client.frames or from_broker.frames or told.job) and not told.is_closed:
        is_client, size = next(steps, (not from_broker.frames, WHOLE))
        if told.job and (is_client or not from_broker.frames):
            job, told.job = told.job, None
            effects = session.judged(job(), NOW_MS)
        elif is_client:
            effects = session.client_bytes(from_client.take(size), NOW_MS)
        else:
            effects = session.broker_bytes(from_broker.take(size), NOW_MS)
        requests, at_broker = frames_of(at_broker + told.note(effects))
        from_broker.frames.extend(said for asked in requests if (said := answer_to(asked)))
        told.most_unanswered = max(told.most_unanswered, len(from_broker.frames))
    return told
