"""`DaemonThreads`: threads that do not delay the exit of the process.

Python joins every thread of `concurrent.futures.ThreadPoolExecutor` before it exits, whatever `shutdown` was
called with. A thread that reads a large answer, or decompresses a large batch, delays the exit until it is
done.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from tsproxy.proxy.turns import Turns

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Queued(Generic[T]):
    """Work that waits in the queue of that name. Queues take turns, so nobody waits for long behind the work
    of others."""

    queue: str
    work: Callable[[], T]

    def __call__(self) -> T:
        return self.work()


_Work = tuple[Future[Any], Callable[[], object]]


class DaemonThreads(Executor):
    """At most `most` threads called `name`, each started when there is work for it. Work of one queue
    (`Queued`) runs in the order of submission. Cancelled work is dropped at once. Work that runs when the
    process ends is lost without notice, so wait for results that must be complete."""

    def __init__(self, most: int, name: str) -> None:
        self._changed = threading.Condition()
        self._idle = 0
        self._is_stopped = False
        self._most = most
        self._name = name
        self._threads: list[threading.Thread] = []
        self._waiting = Turns[str, _Work]()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Give work to a thread. Raises RuntimeError after `shutdown`, as `ThreadPoolExecutor` does."""
        future: Future[T] = Future()
        with self._changed:
            if self._is_stopped:
                raise RuntimeError(f"the threads {self._name} take no more work: they were shut down")
            queue = fn.queue if isinstance(fn, Queued) else ""
            self._waiting.put(queue, (future, lambda: fn(*args, **kwargs)))
            future.add_done_callback(partial(self._forget, queue))
            if self._idle < len(self._waiting) and len(self._threads) < self._most:
                self._begin_thread()
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more work. With `wait`: return when all accepted work that was not cancelled is done."""
        with self._changed:
            self._is_stopped = True
            dropped = [future for future, _ in self._waiting] if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
            self._changed.notify_all()
        for future in dropped:
            future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def _forget(self, queue: str, future: Future[Any]) -> None:
        """Remove cancelled work from the queue, with everything that it references."""
        if future.cancelled():
            with self._changed:
                self._waiting.remove(queue, lambda work: work[0] is future)

    def _begin_thread(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _next(self) -> _Work | None:
        """Wait for the next work. None at the end."""
        with self._changed:
            self._idle += 1
            while not self._waiting and not self._is_stopped:
                self._changed.wait()
            self._idle -= 1
            return self._waiting.take() if self._waiting else None

    def _work(self) -> None:
        while (taken := self._next()) is not None:
            _do(*taken)
            del taken  # keep no references while the thread is idle


def _do(future: Future[Any], job: Callable[[], object]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        done = job()
    except BaseException as error:  # the caller gets the error, and the thread continues
        future.set_exception(error)
        del future  # otherwise the error's traceback would reference the future that holds the error
    else:
        future.set_result(done)
