"""The judges of a world: the queue of `JudgePool`, with turns on the loop instead of in threads."""

from collections.abc import Callable

from rigs.simulated.draws import Stream
from rigs.simulated.loop import SimulatedLoop
from tsproxy.proxy.connections.judge_pool import JudgePool, Ticket, _turn


class SimulatedJudges(JudgePool):
    """A turn begins after a while, and ends after another while: anything may happen meanwhile."""

    def __init__(self, loop: SimulatedLoop, stream: Stream) -> None:
        super().__init__(threads=0)
        self.judging_begins: Callable[[], None] = lambda: None
        """Called when a request has begun to wait for its turn."""
        self._loop = loop
        self._stream = stream

    @property
    def is_at_work(self) -> bool:
        """Whether a turn has begun and has not ended, though perhaps nobody waits for it any more."""
        return bool(self._at_work)

    def begin(self, job, address, done) -> Ticket:
        ticket = super().begin(job, address, done)
        self._take_turn_later()
        self.judging_begins()
        return ticket

    def _take_turn_later(self) -> None:
        self._loop.after(self._stream.soon(), self._begin_turn)

    def _begin_turn(self) -> None:
        if self._waiting and (ticket := self._next()) is not None:
            self._loop.after(self._stream.soon(), lambda: self._end_turn(ticket))

    def _end_turn(self, ticket: Ticket) -> None:
        self._rest(ticket, _turn(ticket, self._clock))
        if self._waiting:
            self._take_turn_later()
