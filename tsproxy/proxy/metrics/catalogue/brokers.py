"""Metrics of the cluster's brokers and the proxy's own connection to them."""

from typing import Final

from tsproxy.proxy.metrics.described import Joined, gauge_row

TITLE: Final = "Brokers"

UPSTREAM_UP: Final = gauge_row(
    "tsproxy_upstream_up",
    "0 or 1",
    "1 while the proxy's own connection works",
    "Alert on 0 for some minutes: `upstream_unreachable` in the log says why.",
    joined=Joined.LOWEST,
)
BROKERS: Final = gauge_row(
    "tsproxy_brokers",
    "brokers",
    "Brokers of the cluster that a listener serves",
    "Lower than the number of brokers: see `tsproxy_brokers_not_served`.",
    ("listener",),
    appear="when the cluster has answered for the first time",
    joined=Joined.LOWEST,
)
BROKERS_NOT_SERVED: Final = gauge_row(
    "tsproxy_brokers_not_served",
    "brokers",
    "Brokers of the cluster that a listener cannot serve: its clients cannot reach their partitions",
    "Alert above 0. `broker_not_served` in the log says why ([ports](../guide/operations.md#ports)).",
    ("listener",),
    appear="when the cluster has answered for the first time",
    joined=Joined.HIGHEST,
)
BROKER_NAMES_UNRESOLVED: Final = gauge_row(
    "tsproxy_broker_names_unresolved",
    "brokers",
    "Brokers for whose names no name server answers",
    "Alert above 0: clients are connected to the address that a broker had last, if there is one. "
    "`broker_name_not_resolved` in the log has the names. Repair the name service.",
    joined=Joined.HIGHEST,
)
BROKERS_HANGING: Final = gauge_row(
    "tsproxy_brokers_hanging",
    "brokers",
    "Brokers that keep connected clients waiting and do not answer the proxy either, now or in the last two "
    "minutes",
    "Alert above 0: `broker_hangs` in the log has the node id.",
    joined=Joined.HIGHEST,
)
BROKERS_LIMITS_UNKNOWN: Final = gauge_row(
    "tsproxy_brokers_limits_unknown",
    "brokers",
    "Brokers that have not told the proxy their limits, because it cannot reach them",
    "Above 0: only brokers apply limits that topics do not set themselves. `broker_limits_unknown` in the "
    "log has the node id and the error.",
    joined=Joined.HIGHEST,
)
TOPICS_UNREADABLE: Final = gauge_row(
    "tsproxy_topics_unreadable",
    "topics",
    "Topics that producers write to and whose limits the proxy may not read, or does not understand",
    "Above 0: limits that were known before stay in force, and brokers alone judge the others. "
    "`topic_limits_denied` in the log names the topics: grant `DescribeConfigs` on them.",
    joined=Joined.HIGHEST,
)
