"""A worker process: a whole proxy that executes the supervisor's orders.

It drains on the supervisor's order, at SIGTERM or SIGINT, and when the supervisor has ended. Repeated signals
change nothing: only the supervisor knows whether somebody wants a quick stop, and a service manager may send
the signal to both processes.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping
from typing import Any

from tsproxy.clock import Clock
from tsproxy.config import ConfigError
from tsproxy.log_events.catalogue import (
    CONFIG_RELOAD_CRASHED,
    ORDERS_CRASHED,
    SUPERVISOR_LOST,
    WORKER_STARTED,
    WORKER_STOPPED,
)
from tsproxy.model.custom_rule import ENDS_PROCESS
from tsproxy.proxy.brokers.discovery import PermissionDeniedError
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.parts import Commit
from tsproxy.proxy.ports import ListenError
from tsproxy.proxy.reload.retry import Retry
from tsproxy.proxy.server import Proxy
from tsproxy.proxy.startup import StartError
from tsproxy.proxy.wait import cancelled
from tsproxy.proxy.workers.channel import Channel, Orders, config_of


async def serve_as_worker(orders: Orders, end: socket.socket) -> None:
    """Run until the supervisor or a signal stops it. If it cannot run, the process ends with status 1. The
    supervisor gets the reason and logs it."""
    channel = await Channel.over(end)

    def announce(event: str, facts: Mapping[str, Any]) -> None:
        if event == "started":
            WORKER_STARTED(pid=os.getpid())
        elif event == "stopped":
            WORKER_STOPPED(**facts)
        channel.send({"event": event, **facts})  # last, so that the supervisor's own line follows ours

    try:
        proxy = Proxy(orders.config, Clock(), announce, kept=orders.kept)
        await _run(proxy, channel)
    except (ConfigError, ListenError, PermissionDeniedError, StartError) as error:
        channel.send({"event": "failed", "text": str(error)})
        raise SystemExit(1) from None
    finally:
        await channel.close()


async def _run(proxy: Proxy, channel: Channel) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, proxy.stop)
    obeying = loop.create_task(_obey(channel, proxy))
    try:
        await proxy.run()
    finally:
        await cancelled(obeying)


async def _obey(channel: Channel, proxy: Proxy) -> None:
    preparing: asyncio.Task[Commit | None] | None = None
    at_work = set[asyncio.Task[Commit | None]]()
    mistakes = Retry(Clock())
    try:
        async for line in channel.lines():
            # A report may take long on a machine that is overloaded. The loop of this worker turns.
            channel.send({"event": "heard"})
            match line["order"]:
                case "prepare":
                    # Its files may be on a disk that hangs, so other orders do not wait. One that finds the
                    # last at work gets no answer: otherwise each would take one more thread.
                    if not at_work:
                        preparing = asyncio.create_task(
                            _prepare(proxy, channel, line["id"], line["config"], mistakes)
                        )
                        at_work.add(preparing)
                        preparing.add_done_callback(at_work.discard)
                case "commit":
                    commit = None if preparing is None else preparing.result()
                    assert commit is not None, "ordered only after all workers were prepared"
                    commit()
                case "abandon":
                    preparing = None
                case "report":
                    report = await proxy.report()
                    channel.send({"event": "report", "id": line["id"], "report": report.as_line()})
                case "ready":
                    not_ready = await proxy.not_ready()
                    channel.send({"event": "ready", "id": line["id"], "not_ready": not_ready})
                case "drain":
                    proxy.stop()
                case "stop_now":
                    proxy.stop_now()
        SUPERVISOR_LOST(advice="this worker drains and ends")
    except Exception as error:
        # An error in our code, or no memory. Nobody awaits this task, so the error would be lost.
        ORDERS_CRASHED(error=type(error).__name__, frames=frames_of(error))
    finally:
        # Without a supervisor there are no orders and no reports, and the next supervisor needs the ports.
        proxy.close()


async def _prepare(proxy: Proxy, channel: Channel, number: int, text: str, mistakes: Retry) -> Commit | None:
    """The prepared reload. The supervisor is told the problems that prevent it, and tries it again."""
    commit, problems = None, list[str]()
    try:
        commit = await proxy.prepare(await asyncio.to_thread(config_of, text))
    except ConfigError as error:
        problems = str(error).splitlines()
    except (*ENDS_PROCESS, asyncio.CancelledError):
        raise
    except BaseException as error:
        # An error in our code, or in a rule's, ends no worker. All workers keep their configuration.
        if mistakes.failed(frames := frames_of(error)):
            CONFIG_RELOAD_CRASHED(error=type(error).__name__, frames=frames)
        problems = ["a mistake in tsproxy; please report the frames"]
    channel.send({"event": "prepared", "id": number, "problems": problems})
    return commit
