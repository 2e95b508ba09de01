"""haproxy before the proxies, as docs/guide/high-availability.md configures it: a port for each broker."""

import asyncio
import re
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import yaml

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "high-availability.md"
FRONT = "127.0.0.10"
FIRST_CHECKS_S = 3


@asynccontextmanager
async def haproxy(folder, ports, proxies):
    """haproxy at `FRONT`. It asks `/readyz` of each proxy each second."""
    file = folder / "haproxy.cfg"
    file.write_text(_configuration(ports, proxies))
    with (folder / "haproxy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec("haproxy", "-db", "-f", file, stderr=log)
    try:
        await asyncio.sleep(FIRST_CHECKS_S)
        yield
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def settings_of_proxies():
    """The sections that the page wants in the proxies' own file."""
    page = PAGE.read_text(encoding="utf-8")
    return yaml.safe_load(re.search(r"^admin:\n(?: .*\n)+limits:\n(?: .*\n)+", page, re.M)[0])


def _configuration(ports, proxies):
    """The configuration of the page, with the addresses of here."""
    page = PAGE.read_text(encoding="utf-8")
    defaults = re.search(r"^defaults\n(?: .*\n)+", page, re.M)[0]
    options = re.search(r"^  server proxy-1 \S+ (.*)$", page, re.M)[1]
    routes = (
        f"listen kafka-{port}\n  bind {FRONT}:{port}\n"
        + "".join(f"  server {proxy.host} {proxy.host}:{port} {options}\n" for proxy in proxies)
        for port in ports
    )
    admin_port = proxies[0].admin_address.rpartition(":")[2]
    return "".join([defaults.replace("9464", admin_port), *routes])
