"""A broker that is left out of an answer: the answer is that of a broker which does not know its listener."""

from dataclasses import fields, is_dataclass, replace

from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from tests.wire.entities import each_response, encode, entities, read, written
from tests.wire.strategies import a_few
from tsproxy.wire.addresses import LAYOUTS
from tsproxy.wire.left_out import leave_out
from tsproxy.wire.primitives import Reader

each_message = each_response(LAYOUTS)
METADATA, DESCRIBED = 3, 75
TAGS = b"\x02" + b"\x00\x03abc" + b"\xff\xff\xff\xff\x0f\x00"
NODES = st.integers(-1, 4)
"""Few, so that the brokers, leaders and replicas of one answer are often the same."""


def with_few_nodes(data, entity, names=("node_id", "broker_id", "leader_id", "controller_id")):
    """`entity` with ids of brokers from NODES, also in lists of replicas. CurrentLeader keeps its own."""
    changed = {}
    for f in fields(entity):
        value = getattr(entity, f.name)
        if f.name in names:
            changed[f.name] = type(value)(data.draw(NODES))
        elif is_dataclass(value) and f.name != "current_leader":
            changed[f.name] = with_few_nodes(data, value)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            changed[f.name] = tuple(with_few_nodes(data, item) for item in value)
        elif f.name in ("replica_nodes", "isr_nodes", "offline_replicas"):
            changed[f.name] = tuple(data.draw(st.lists(NODES, max_size=4, unique=True)))
    return replace(entity, **changed)


def expected(entity, left_out, api_key):
    """`entity` as a broker writes it that does not know the listeners of the brokers in `left_out`."""
    changed = {}
    for f in fields(entity):
        value = getattr(entity, f.name)
        if f.name in ("brokers", "node_endpoints"):
            id_of = (
                (lambda each: each.broker_id) if hasattr_any(value, "broker_id") else (lambda e: e.node_id)
            )
            changed[f.name] = tuple(each for each in value if id_of(each) not in left_out)
        elif is_dataclass(value) and f.name != "current_leader":
            changed[f.name] = expected(value, left_out, api_key)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            changed[f.name] = tuple(expected(item, left_out, api_key) for item in value)
    if getattr(entity, "controller_id", None) in left_out:
        changed["controller_id"] = -1
    if getattr(entity, "leader_id", None) in left_out and hasattr(entity, "replica_nodes"):
        changed["leader_id"] = -1
        if api_key == METADATA:
            changed["error_code"] = ErrorCode.leader_not_available
    if hasattr(entity, "offline_replicas"):
        offline = entity.offline_replicas
        more = [each for each in entity.replica_nodes if each in left_out and each not in offline]
        changed["offline_replicas"] = (*offline, *more)
    is_coordinator = hasattr(entity, "host") and hasattr(entity, "error_code")
    if is_coordinator and entity.node_id in left_out:
        nobody = {"node_id": type(entity.node_id)(-1), "host": "", "port": -1}
        changed |= {**nobody, "error_code": ErrorCode.coordinator_not_available}
    return replace(entity, **changed)


def hasattr_any(items, name):
    return any(hasattr(item, name) for item in items)


@each_message
@a_few
@given(data=st.data())
def test_the_rest_of_the_answer_stays_and_the_broker_is_nowhere(api_key, version, cls, data):
    entity = with_few_nodes(data, data.draw(entities(cls)))
    left_out = data.draw(st.sets(st.integers(0, 4)))
    body = leave_out(api_key, version, Reader(written(entity)), left_out.__contains__)
    assert read(cls, body) == expected(entity, left_out, api_key)
    assert body == written(expected(entity, left_out, api_key))
    if api_key != DESCRIBED:  # its cursor may be null, which `encode` does not write
        tagged = leave_out(api_key, version, Reader(encode(entity, TAGS)), left_out.__contains__)
        assert tagged == encode(expected(entity, left_out, api_key), TAGS)
