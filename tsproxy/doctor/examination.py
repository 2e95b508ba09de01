"""`examine`: all findings about a configuration, the cluster that it names, and the proxy's listeners."""

from contextlib import AsyncExitStack

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import ConversationError
from tsproxy.config.settings import Config
from tsproxy.doctor import clients, clock_offset, configuration, permissions, ports, security, topics
from tsproxy.doctor.cluster import CLUSTER, Seen, bootstrap, look, reach_brokers, versions
from tsproxy.doctor.findings import Check, Finding


async def examine(config: Config, clock: Clock) -> list[Finding]:
    """The findings, in the order in which the proxy would have the problems. Nothing is raised if the cluster
    does not answer."""
    findings = [*configuration.examine(config, clock.now_ms())]
    async with AsyncExitStack() as stack:
        seen = await look(config, stack)
        findings += bootstrap(config, seen)
        findings += security.to_brokers(config, seen)
        for part in (_of_cluster(config, seen, stack, clock), permissions.of_decisions(config, stack)):
            try:
                findings += await part
            except ConversationError as error:  # the broker answered before, and has stopped since
                findings.append(CLUSTER.problem(str(error), "check that broker, and run this command again"))
        findings += ports.examine(config, seen.brokers)
        findings += security.to_clients(config, seen.brokers)
        findings += await clients.examine(config)
    checks = [*dict.fromkeys(finding.check for finding in findings)]
    return sorted(findings, key=lambda finding: checks.index(finding.check))


async def _of_cluster(config: Config, seen: Seen, stack: AsyncExitStack, clock: Clock) -> list[Finding]:
    connection = seen.connection
    if connection is None:
        text = "no broker answers the proxy's own connection"
        return [Check(name).skipped(text) for name in ("versions", "permissions", "topics", "clock")]
    nodes = await reach_brokers(config, seen, stack)
    rights = await permissions.rights(config, connection)
    described = await topics.describe(rights, nodes)
    return [
        *versions(nodes),
        *permissions.examine(config, rights),
        *topics.examine(config, described),
        *topics.unmatched(config, rights),
        await clock_offset.examine(config, nodes, described.stamped, clock),
    ]
