"""Each field of each answer that may name a host, and what the proxy does with it.

Any string may name one, and any field that is called host, port, endpoint, listener, address or URL. So each
such field of Kafka's own schemas has a row here: by its place if the proxy treats it, or if its name says
more elsewhere, else by its name. A field of a new Kafka without a row fails: read where the broker takes its
value from, then treat it or say here why no address of a broker or controller stands in it.
"""

import pytest

from tests.wire.schemas import fields_of, may_name_a_host, messages, walk
from tests.wire.test_schemas import NEWEST, RELEASES
from tsproxy.wire.addresses import LAYOUTS
from tsproxy.wire.apis import APIS
from tsproxy.wire.k01_k78_fetch import layout_of
from tsproxy.wire.masking import MASKED

pytestmark = pytest.mark.broker

REWRITTEN = "rewritten to the proxy's address"
BLANKED = "replaced by zeros while the answer streams"
MASKS = "left out, unless addresses_in_configs is pass"

CLIENTS = "the address of a client, as brokers see it"
STREAMS = "the address that an application of Kafka Streams gave for its own instances"
ACLS = "what an operator wrote into an ACL"

TREATED = {
    (0, "NodeEndpoints"): REWRITTEN,
    (0, "NodeEndpoints.Host"): REWRITTEN,
    (0, "NodeEndpoints.Port"): REWRITTEN,
    (1, "NodeEndpoints"): BLANKED,
    (1, "NodeEndpoints.Host"): BLANKED,
    (1, "NodeEndpoints.Port"): BLANKED,
    (3, "Brokers.Host"): REWRITTEN,
    (3, "Brokers.Port"): REWRITTEN,
    (10, "Host"): REWRITTEN,
    (10, "Port"): REWRITTEN,
    (10, "Coordinators.Host"): REWRITTEN,
    (10, "Coordinators.Port"): REWRITTEN,
    (32, "Results.Configs.Value"): MASKS,
    (32, "Results.Configs.Synonyms.Value"): MASKS,
    (33, "Responses.ErrorMessage"): MASKS,
    (44, "Responses.ErrorMessage"): MASKS,
    (55, "Nodes.Listeners"): MASKS,
    (55, "Nodes.Listeners.Host"): MASKS,
    (55, "Nodes.Listeners.Port"): MASKS,
    (60, "Brokers.Host"): REWRITTEN,
    (60, "Brokers.Port"): REWRITTEN,
    (78, "NodeEndpoints"): BLANKED,
    (78, "NodeEndpoints.Host"): BLANKED,
    (78, "NodeEndpoints.Port"): BLANKED,
    (79, "NodeEndpoints"): REWRITTEN,
    (79, "NodeEndpoints.Host"): REWRITTEN,
    (79, "NodeEndpoints.Port"): REWRITTEN,
}

NOT_A_BROKERS = {
    (15, "Groups.Members.ClientHost"): CLIENTS,
    (29, "Resources.Acls.Host"): ACLS,
    (31, "FilterResults.MatchingAcls.Host"): ACLS,
    (60, "EndpointType"): "1 for brokers, 2 for controllers",
    (69, "Groups.Members.ClientHost"): CLIENTS,
    (77, "Groups.Members.ClientHost"): CLIENTS,
    (88, "PartitionsByUserEndpoint"): STREAMS,
    (88, "PartitionsByUserEndpoint.UserEndpoint"): STREAMS,
    (88, "PartitionsByUserEndpoint.UserEndpoint.Host"): STREAMS,
    (88, "PartitionsByUserEndpoint.UserEndpoint.Port"): STREAMS,
    (88, "EndpointInformationEpoch"): "a number",
    (89, "Groups.Members.ClientHost"): CLIENTS,
    (89, "Groups.Members.UserEndpoint"): STREAMS,
    (89, "Groups.Members.UserEndpoint.Host"): STREAMS,
    (89, "Groups.Members.UserEndpoint.Port"): STREAMS,
}

TEXTS_ABOUT = {
    "groups, their members and offsets: ids and names that clients sent": {
        10,
        15,
        42,
        68,
        69,
        76,
        77,
        *range(83, 94),
    },
    "topics, partitions, replicas and records: names, ids, settings and times": {
        0,
        19,
        20,
        37,
        43,
        45,
        46,
        61,
        78,
        79,
    },
    "users, ACLs, quotas and features: what the request said": {29, 30, 31, 48, 49, 50, 51, 57},
    "a login: the mechanism's own words": {36},
    "the configuration of a resource that may not be read: its name": {32},
    "the cluster: ids of nodes, directories and voters": {55, 60, 64, 80, 81, 94},
}
"""The APIs with error texts, by what the texts are about. No broker's address was found in them: in Kafka's
code, and in the errors that could be caused. (`TREATED` has the texts in which there were some.)"""

BY_NAME = {
    "a name or id that clients or operators chose": {
        "ClientId", "EntityName", "Feature", "GroupId", "GroupInstanceId", "InstanceId", "Key", "Leader",
        "MemberId", "Name", "Principal", "PrincipalName", "ProcessId", "Rack", "RackId",
        "RepartitionSinkTopics", "RequestedMetrics", "ResourceName", "SinkTopic", "SourceTopics", "Stores",
        "SubscribedTopicNames", "SubscribedTopicRegex", "SubtopologyId", "Successors",
        "TokenRequesterPrincipalName", "Topic", "TopicName",
        "TransactionalId", "UnknownStateFilters", "User", "Value",
    },
    "bytes that clients gave each other, or records": {
        "Assignment", "MemberAssignment", "MemberMetadata", "Metadata", "ProtocolData", "Records",
    },
    "an id that brokers made": {"ClusterId", "TokenId"},
    "a word or text of Kafka's code": {
        "AssignorName", "Documentation", "EntityType", "GroupState", "GroupType", "Mechanisms",
        "PrincipalType", "ProtocolName", "ProtocolType", "StatusDetail", "TokenRequesterPrincipalType",
        "TransactionState",
    },
    "a step of a login": {"AuthBytes", "Hmac"},
    "a path": {"LogDir"},
}  # fmt: skip

ERROR_TEXTS = {"ErrorMessage", "AcknowledgeErrorMessage", "BatchIndexErrorMessage"}


def fields_that_may_name_a_host(release):
    """(API key, path) in all answers of this release, up to the versions that the proxy offers."""
    return {
        (api_key, path)
        for api_key, api in APIS.items()
        if (schema := messages(release).get((api_key, "response")))
        for path, field in walk(schema, api.max_version)
        if may_name_a_host(field)
    }


def explanations(api_key, path):
    """The rows for a field, as texts."""
    row = TREATED.get((api_key, path)) or NOT_A_BROKERS.get((api_key, path))
    if row is not None:
        return [row]
    name = path.rpartition(".")[2]
    if name in ERROR_TEXTS:
        return [about for about, keys in TEXTS_ABOUT.items() if api_key in keys]
    return [why for why, names in BY_NAME.items() if name in names]


@pytest.mark.parametrize("release", RELEASES)
def test_every_field_that_may_name_a_host_is_rewritten_masked_or_explained(release):
    said = {field: explanations(*field) for field in fields_that_may_name_a_host(release)}
    assert not {field for field, whys in said.items() if not whys}, "say here what is done with these"
    assert not {field: whys for field, whys in said.items() if len(whys) > 1}, "said twice"


def test_no_row_is_left_of_a_field_that_is_gone():
    found = fields_that_may_name_a_host(NEWEST)
    assert TREATED.keys() | NOT_A_BROKERS.keys() <= found
    names = {path.rpartition(".")[2] for _, path in found}
    assert ERROR_TEXTS | set().union(*BY_NAME.values()) <= names
    with_texts = {api_key for api_key, path in found if path.rpartition(".")[2] in ERROR_TEXTS}
    assert set().union(*TEXTS_ABOUT.values()) <= with_texts


def test_a_new_field_that_may_name_a_host_has_no_row():
    """In an API that has error texts already, a new text still has to be explained by its name."""
    assert not explanations(3, "Brokers.AdvertisedName")
    assert not explanations(3, "Brokers.Host2")
    assert not explanations(42, "Results.ErrorMessage2")
    assert may_name_a_host({"name": "UserEndpoints", "type": "[]Endpoint"})
    assert may_name_a_host({"name": "Anything", "type": "[]string"})
    assert not may_name_a_host({"name": "SupportedFeatures", "type": "[]Feature"})


def test_every_treatment_is_where_the_table_says():
    def treated(how):
        return {api_key for (api_key, _), treatment in TREATED.items() if treatment == how}

    assert treated(REWRITTEN) == {0, *(key for key in LAYOUTS if LAYOUTS[key])}, (
        "Produce has a reader of its own"
    )
    assert treated(BLANKED) == {
        key for key, api in APIS.items() if layout_of(key, api.max_version) is not None
    }
    assert treated(MASKS) == set(MASKED)


def test_no_string_beside_a_brokers_id_is_overlooked():
    """An address under another name would stand in a struct with its broker's id."""
    beside = set()
    for api_key, api in APIS.items():
        schema = messages()[api_key, "response"]
        for path, field in walk(schema, api.max_version):
            inside = fields_of(field, schema)
            if any(f.get("entityType") == "brokerId" for f in inside):
                beside |= {(api_key, f"{path}.{f['name']}") for f in inside if f["type"] == "string"}
    beside |= {(55, "Nodes.Listeners.Host")}  # a struct inside the one with the id
    hosts = {(api_key, path) for api_key, path in TREATED if path.endswith(".Host")}
    assert hosts <= beside
    assert {path.rpartition(".")[2] for _, path in beside - hosts} == {"Rack", "Key", "ErrorMessage"}
