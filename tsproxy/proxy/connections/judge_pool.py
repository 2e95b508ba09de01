"""The threads that judge expensive requests, and the queue of these requests: `JudgePool`.

No client waits for long behind another client. The addresses of clients take turns, and so do a few requests
of one address, each of which is of another connection (`MAX_BEGUN`). Requests of few partitions, which hold
little memory, wait in a line of their own and not behind requests of many. A turn is a slice of work
(`SLICE`), not a whole request. A cancelled request is released at once: if it waits, it leaves the queue with
its bytes; if it is at work, it ends at its next step. The threads do not delay the exit of the process, as
threads of `concurrent.futures` would.
"""

import threading
from collections.abc import Callable, Generator
from typing import Final

from tsproxy.clock import Clock
from tsproxy.proxy.turns import Turns
from tsproxy.session.job import Job, StoppedError
from tsproxy.session.verdict import Judged

JUDGES: Final = 2
"""How many threads judge. While decompressors and native readers work, other threads can run. Each thread may
hold one batch's largest block, so a small number of threads bounds memory, too."""

MAX_BEGUN: Final = 4
"""The most requests of one address that take turns with each other. Further requests wait until one of these
is over, since a request that has begun may hold far more memory than its frame."""
MAX_LIGHT_BEGUN: Final = 32
"""The same for light requests. Each may list 10,000 records at fault, in some MiB."""
SLICE: Final = 200_000
"""The work of one turn, in records (`Work.done`). A turn ends with the first step that reaches it."""

Done = Callable[[Judged | BaseException], None]
"""Called by a judge's thread, with the verdicts or with the error."""


_Line = tuple[str, bool]
"""An address, and whether its light requests wait here."""


class Ticket:
    """One request in the queue or at work. Only `JudgePool` uses its attributes."""

    __slots__ = ("done", "is_at_work", "job", "line", "steps")

    def __init__(self, job: Job[Judged], address: str, done: Done) -> None:
        self.line: _Line = (address, job.is_light)
        self.done: Done | None = done
        self.is_at_work = False
        self.job: Job[Judged] | None = job
        self.steps: Generator[None, None, Judged] | None = None


class JudgePool:
    """The judges of one process; their threads start with the first request that needs them."""

    def __init__(self, threads: int = JUDGES, clock: Clock | None = None) -> None:
        self._abandoned_bytes = 0
        self._clock = clock or Clock()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._most = threads
        self._at_work: set[Ticket] = set()
        self._threads: list[threading.Thread] = []
        self._waiting = Turns[_Line, Ticket]()

    @property
    def abandoned_bytes(self) -> int:
        """Memory of requests that were cancelled while a thread judged them, and are not released yet."""
        return self._abandoned_bytes

    @property
    def waiting(self) -> int:
        with self._changed:
            return len(self._waiting)

    def begin(self, job: Job[Judged], address: str, done: Done) -> Ticket:
        """Queue `job`. A thread judges it when its turn comes. After `stop` nothing is judged."""
        ticket = Ticket(job, address, done)
        with self._changed:
            if self._is_stopped:
                return ticket
            self._waiting.put(ticket.line, ticket)
            if len(self._threads) < self._most:
                self._begin_thread()
            self._changed.notify()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Cancel a request: `done` is not called, and the request's bytes are released, at the latest when a
        thread that judges it has stopped."""
        with self._changed:
            if ticket.done is None:
                return
            ticket.done = None
            if ticket.is_at_work and ticket.job is not None:
                ticket.job.work.stop()
                self._abandoned_bytes += ticket.job.size
            elif self._waiting.remove(ticket.line, lambda other: other is ticket):
                ticket.job = ticket.steps = None

    def stop(self) -> None:
        """The process ends: nothing is judged any more."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            for ticket in self._at_work:
                if ticket.job is not None:
                    ticket.job.work.stop()
            self._changed.notify_all()

    def join(self, timeout_s: float) -> bool:
        """After `stop`, wait until the threads have ended. False if a thread has not: it then ends with the
        process."""
        for thread in tuple(self._threads):
            thread.join(timeout_s)
        return not any(thread.is_alive() for thread in self._threads)

    def _begin_thread(self) -> None:
        name = f"judge-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _next(self) -> Ticket | None:
        """Wait for a ticket, and return the one whose turn it is; None at the end."""
        with self._changed:
            while not self._waiting and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                return None
            ticket = self._waiting.take()
            ticket.is_at_work = True
            self._at_work.add(ticket)
            return ticket

    def _work(self) -> None:
        while (ticket := self._next()) is not None:
            result = _turn(ticket, self._clock)
            self._rest(ticket, result)
            result = None
            del ticket  # keep no references until the next turn

    def _rest(self, ticket: Ticket, result: Judged | BaseException | None) -> None:
        """A turn is over. Without a result the ticket goes back into the queue, unless it was cancelled or
        the pool was stopped. With a result, `done` is called."""
        with self._changed:
            ticket.is_at_work = False
            self._at_work.discard(ticket)
            done = ticket.done
            if result is None and done is not None and not self._is_stopped:
                is_light = ticket.line[1]
                self._waiting.put(ticket.line, ticket, (MAX_LIGHT_BEGUN if is_light else MAX_BEGUN) - 1)
                self._changed.notify()
                return
            if done is None and ticket.job is not None:
                self._abandoned_bytes -= ticket.job.size
            ticket.job = ticket.steps = ticket.done = None
        if result is not None and done is not None:
            done(result)


def _turn(ticket: Ticket, clock: Clock) -> Judged | BaseException | None:
    """The result after one slice of work; None if there is more to do, or if the request was stopped."""
    job = ticket.job
    if job is None:
        return None
    ends = job.work.done + SLICE
    job.work.begin_turn(clock.thread_us)
    try:
        steps = ticket.steps = ticket.steps or job.steps()
        while job.work.done < ends:
            next(steps)
    except StopIteration as over:
        judged: Judged = over.value
        return judged
    except StoppedError:
        return None
    except BaseException as error:  # any error ends only that session, and no judge
        return error
    finally:
        job.work.end_turn()
    return None
