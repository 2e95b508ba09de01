"""The supported APIs: for each API key, the newest version whose layout the proxy knows.

Source: `clients/src/main/resources/common/message/*.json` of Kafka 4.4.0, and `ApiKeys.java` for the keys
that a broker listener serves. The proxy neither offers nor forwards an API key or version that is not in
this table. Otherwise a new Metadata version of Kafka could leak broker addresses.

One version is below the newest of 4.4.0: InitProducerId 5, because 6 is unstable.
"""

from dataclasses import dataclass
from typing import Final

NEVER: Final = 32767
"""A value of `flexible_from` for an API that is never flexible."""


@dataclass(frozen=True, slots=True)
class Api:
    """One row: the key's name, its newest known version, its first version with tagged fields, and the oldest
    version that Kafka 4 takes (KIP-896). 4.0.0 alone took no JoinGroup below 2."""

    name: str
    max_version: int
    flexible_from: int
    kafka_4_from: int = 0

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_from


APIS: Final[dict[int, Api]] = {
    0: Api("Produce", 13, 9, 3),
    1: Api("Fetch", 18, 12, 4),
    2: Api("ListOffsets", 11, 6, 1),
    3: Api("Metadata", 13, 9),
    8: Api("OffsetCommit", 10, 8, 2),
    9: Api("OffsetFetch", 10, 6, 1),
    10: Api("FindCoordinator", 6, 3),
    11: Api("JoinGroup", 9, 6),
    12: Api("Heartbeat", 4, 4),
    13: Api("LeaveGroup", 5, 4),
    14: Api("SyncGroup", 5, 4),
    15: Api("DescribeGroups", 6, 5),
    16: Api("ListGroups", 5, 3),
    17: Api("SaslHandshake", 1, NEVER),
    18: Api("ApiVersions", 5, 3),
    19: Api("CreateTopics", 7, 5, 2),
    20: Api("DeleteTopics", 6, 4, 1),
    21: Api("DeleteRecords", 2, 2),
    22: Api("InitProducerId", 5, 2),
    23: Api("OffsetForLeaderEpoch", 4, 4, 2),
    24: Api("AddPartitionsToTxn", 5, 3),
    25: Api("AddOffsetsToTxn", 4, 3),
    26: Api("EndTxn", 5, 3),
    27: Api("WriteTxnMarkers", 2, 1, 1),
    28: Api("TxnOffsetCommit", 6, 3),
    29: Api("DescribeAcls", 3, 2, 1),
    30: Api("CreateAcls", 3, 2, 1),
    31: Api("DeleteAcls", 3, 2, 1),
    32: Api("DescribeConfigs", 4, 4, 1),
    33: Api("AlterConfigs", 2, 2),
    34: Api("AlterReplicaLogDirs", 2, 2, 1),
    35: Api("DescribeLogDirs", 5, 2, 1),
    36: Api("SaslAuthenticate", 2, 2),
    37: Api("CreatePartitions", 3, 2),
    38: Api("CreateDelegationToken", 3, 2, 1),
    39: Api("RenewDelegationToken", 2, 2, 1),
    40: Api("ExpireDelegationToken", 2, 2, 1),
    41: Api("DescribeDelegationToken", 3, 2, 1),
    42: Api("DeleteGroups", 3, 2),
    43: Api("ElectLeaders", 2, 2),
    44: Api("IncrementalAlterConfigs", 1, 1),
    45: Api("AlterPartitionReassignments", 1, 0),
    46: Api("ListPartitionReassignments", 0, 0),
    47: Api("OffsetDelete", 0, NEVER),
    48: Api("DescribeClientQuotas", 1, 1),
    49: Api("AlterClientQuotas", 1, 1),
    50: Api("DescribeUserScramCredentials", 0, 0),
    51: Api("AlterUserScramCredentials", 0, 0),
    55: Api("DescribeQuorum", 2, 0),
    57: Api("UpdateFeatures", 2, 0),
    60: Api("DescribeCluster", 2, 0),
    61: Api("DescribeProducers", 0, 0),
    64: Api("UnregisterBroker", 0, 0),
    65: Api("DescribeTransactions", 0, 0),
    66: Api("ListTransactions", 2, 0),
    68: Api("ConsumerGroupHeartbeat", 1, 0),
    69: Api("ConsumerGroupDescribe", 1, 0),
    71: Api("GetTelemetrySubscriptions", 0, 0),
    72: Api("PushTelemetry", 0, 0),
    74: Api("ListConfigResources", 1, 0),
    75: Api("DescribeTopicPartitions", 0, 0),
    76: Api("ShareGroupHeartbeat", 1, 0, 1),
    77: Api("ShareGroupDescribe", 1, 0, 1),
    78: Api("ShareFetch", 2, 0, 1),
    79: Api("ShareAcknowledge", 2, 0, 1),
    80: Api("AddRaftVoter", 1, 0),
    81: Api("RemoveRaftVoter", 0, 0),
    83: Api("InitializeShareGroupState", 0, 0),
    84: Api("ReadShareGroupState", 0, 0),
    85: Api("WriteShareGroupState", 1, 0),
    86: Api("DeleteShareGroupState", 0, 0),
    87: Api("ReadShareGroupStateSummary", 1, 0),
    88: Api("StreamsGroupHeartbeat", 1, 0),
    89: Api("StreamsGroupDescribe", 1, 0),
    90: Api("DescribeShareGroupOffsets", 1, 0),
    91: Api("AlterShareGroupOffsets", 0, 0),
    92: Api("DeleteShareGroupOffsets", 0, 0),
    93: Api("StreamsGroupTopologyDescriptionUpdate", 0, 0),
    94: Api("UnregisterController", 0, 0),
}


def is_refused_by_kafka_4(api_key: int, version: int) -> bool:
    """True if brokers of Kafka 3 know this version, and brokers of Kafka 4 do not."""
    return api_key in APIS and 0 <= version < APIS[api_key].kafka_4_from


def request_is_understood(api_key: int, version: int) -> bool:
    """True if the layouts of both the request and its answer are known."""
    api = APIS.get(api_key)
    return api is not None and 0 <= version <= api.max_version
