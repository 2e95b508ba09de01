"""Sessions whose requests real threads judge, and that end at any moment: `judged_in_threads`.

The sanitizers see what the native code reads while other threads and the loop go on, and after a connection
with its frame, table and queue is gone.
"""

from collections import deque
from random import Random
from unittest.mock import patch

from rigs.simulated.history import stored
from rigs.simulated.requests import any_request
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import PRODUCE, cut_frames
from tsproxy.proxy.connections.judge_pool import JudgePool
from tsproxy.session.effects import Judge, SendToBroker
from tsproxy.session.events import RequestJudged
from tsproxy.session.produce import cost

AT_ONCE = 40
REQUESTS = 6
THREADS = 4


class _Connection:
    """`judged` has the verdicts that threads have put there."""

    def __init__(self, number: int, pool: JudgePool) -> None:
        self.draws, self.judged = Random(number), deque()
        self.session = Session(PEER, view_of(), uses_fast_path=True)
        self._pool, self._ticket = pool, None
        self._ends_meanwhile = False
        self._to_send = bytearray(b"".join(self._requests()))
        self._at_broker = bytearray()

    def _requests(self):
        for correlation_id in range(REQUESTS):
            while True:
                asked = any_request(self.draws, correlation_id, "app", "mixed", -1)
                if asked.api_key == PRODUCE:
                    break
            yield asked.frame

    def step(self) -> bool:
        """Something happens. False once nothing more can happen, or if the connection ends here."""
        if self.judged:
            self._ticket = None
            self._do(self.session.feed(RequestJudged(self.judged.popleft()), NOW_MS))
        elif self._at_broker and self.draws.random() < 0.7:
            self._do(self.session.broker_bytes(self._answers(), NOW_MS))
        elif self._ticket is None and self._to_send:
            size = self.draws.choice((1, 30, 200, len(self._to_send)))
            data = bytes(self._to_send[:size])
            del self._to_send[:size]
            self._do(self._forward(data))
        elif self._ticket is not None and not self._ends_meanwhile:
            return True  # how often it comes here depends on the speed of threads
        if self.draws.random() < 0.02:
            self.end()
            return False
        return bool(self._ticket or self._to_send or self._at_broker or self.judged)

    def end(self) -> None:
        if self._ticket is not None:
            self._pool.cancel(self._ticket)
        self.session.abort()
        self.session = None

    def _forward(self, data: bytes):
        taken = self.session.fast_path.requests.forward_read(data, NOW_MS)
        self._at_broker += data[:taken]
        return self.session.client_bytes(data[taken:], NOW_MS)

    def _answers(self) -> bytes:
        said = b"".join(map(stored, cut_frames(self._at_broker)))
        taken = self.session.fast_path.answers.forward_read(said)
        return said[taken:]

    def _do(self, effects) -> None:
        for effect in effects:
            if isinstance(effect, SendToBroker):
                self._at_broker += effect.data
            elif isinstance(effect, Judge):
                self._ticket = self._pool.begin(effect.job, PEER.client_address, self.judged.append)
                self._ends_meanwhile = self.draws.random() < 0.1


def judged_in_threads(connections: int) -> int:
    """The number of requests that threads have judged. Raises what a judge has raised."""
    pool, draws, judged = JudgePool(THREADS), Random(connections), 0
    with patch.object(cost, "OFFLOAD_BYTES", 0):
        waiting = deque(range(connections))
        alive: list[_Connection] = []
        while waiting or alive:
            while waiting and len(alive) < AT_ONCE:
                alive.append(_Connection(waiting.popleft(), pool))
            one = draws.choice(alive)
            if one.judged:
                judged += 1
                if isinstance(one.judged[0], BaseException):
                    raise one.judged[0]
            if not one.step():
                alive.remove(one)
    pool.stop()

    assert pool.join(10.0)
    return judged
