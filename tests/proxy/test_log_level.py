"""How much the operators' log tells, from the start on and from a reload on."""

import asyncio
import json
import sys

from tests.kit.client import connect
from tests.proxy.running import EITHER, HOST, events, file_for, one_process
from tests.proxy.test_reload import reloads
from tests.proxy.world import PATIENCE_S, until
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy


@one_process("test_reload.py has reloads of workers")
async def test_a_reload_changes_what_is_told_of_connections(kafka_440, tmp_path, arguments):
    file = file_for(kafka_440, tmp_path)
    async with RunningProxy(config=file, decisions=tmp_path / "log", arguments=arguments) as proxy:
        (await connect(proxy.bootstrap_servers)).close()
        file_for(kafka_440, tmp_path, more="log: { level: debug }\n")
        await until(lambda: "config_reloaded" in events(proxy))
        async with await connect(proxy.bootstrap_servers) as client:
            port = client.port
        await until(lambda: "client_left" in events(proxy))

        [came, left] = [line for line in proxy.log if line["event"] in ("client_connected", "client_left")]
        assert (came["level"], came["client"], came["client_port"]) == ("debug", HOST, port)
        assert left["client_port"] == port

        file_for(kafka_440, tmp_path, more="log: { level: error }\n")

        async def is_taken():
            return await reloads(proxy, "taken") == 2

        await until(is_taken)
    assert "proxy_stopped" not in events(proxy)


@EITHER
async def test_the_flag_says_it_from_the_first_line_on(tmp_path, arguments):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tsproxy", "run", "--admin", "off", "--decisions", str(tmp_path)),
        *("--upstream", f"{HOST}:{free_ports(1)[0]}", "--listen", f"{HOST}:0", "--log-format", "json"),
        *("--log-level", "error", *arguments),
        stderr=asyncio.subprocess.PIPE,
    )
    first = json.loads(await asyncio.wait_for(process.stderr.readline(), PATIENCE_S))
    process.terminate()
    rest = await process.stderr.read()
    await process.wait()

    assert first["event"] == "upstream_unreachable"
    assert {json.loads(line)["level"] for line in rest.splitlines()} <= {"error"}
