"""The proxy as the only process: it runs until a signal stops it, and reloads its configuration.

With `workers` above 1, `workers.supervisor` does this for several processes.
"""

import asyncio
import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.config.source import Source
from tsproxy.log_events.catalogue import PROXY_STARTED, PROXY_STARTING, PROXY_STOPPED
from tsproxy.proxy.brokers.discovery import PermissionDeniedError
from tsproxy.proxy.ports import ListenError
from tsproxy.proxy.reload.reloader import Reloader
from tsproxy.proxy.server import Proxy
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.startup import StartError
from tsproxy.proxy.wait import cancelled

Show = Callable[[Mapping[str, Any]], None]


async def serve(config: Config, source: Source, manager: ServiceManager, show: Show) -> None:
    """Run the proxy until SIGTERM or SIGINT, then stop it gracefully. Reload it when `source` changes.
    `show` is called with the facts of the start.

    Raises ConfigError for unusable certificates, and StartError.
    """
    try:
        proxy = Proxy(config, Clock(), partial(_announce, manager, show))
        reloader = Reloader(source, config, proxy.adopt, manager)
        proxy.metrics.add(reloader)
        loop = asyncio.get_running_loop()

        def told_to_stop() -> None:
            manager.stopping(proxy.config.stop_ms)
            proxy.stop_by_signal()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, told_to_stop)
        loop.add_signal_handler(signal.SIGHUP, reloader.reload_now)
        reloading, beating = loop.create_task(reloader.run()), loop.create_task(manager.beat())
        try:
            await proxy.run()
        finally:
            await cancelled(reloading, beating)
    except (ListenError, PermissionDeniedError) as error:
        raise StartError(str(error)) from error


def _announce(manager: ServiceManager, show: Show, what: str, facts: Mapping[str, Any]) -> None:
    {"starting": PROXY_STARTING, "started": PROXY_STARTED, "stopped": PROXY_STOPPED}[what](**facts)
    if what == "starting":
        manager.waiting()
    elif what == "started":
        manager.ready()
        show(facts)
