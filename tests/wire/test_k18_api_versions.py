"""Only what is understood is offered; everything else in the answer stays to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_response_schema

from tests.wire.batches import unsigned
from tests.wire.entities import entities, read, written
from tests.wire.strategies import a_few
from tsproxy.model.kafka import ApiKey
from tsproxy.wire.apis import APIS
from tsproxy.wire.k18_api_versions import (
    MAX_KEYS,
    narrow_response,
    produce_versions,
    read_client_software,
    read_offers,
)
from tsproxy.wire.primitives import DecodeError

VERSIONS = range(6)

each_version = pytest.mark.parametrize("version", VERSIONS)

keys = st.one_of(st.sampled_from(sorted(APIS)), st.integers(-1, 120))
offers = st.lists(st.tuples(keys, st.integers(0, 20), st.integers(0, 20)), max_size=8)


def narrowed(told):
    """(key, lowest, highest) as a client must see them."""
    for api_key, lowest, highest in told:
        if api_key in APIS and lowest <= APIS[api_key].max_version:
            yield api_key, lowest, min(highest, APIS[api_key].max_version)


def body_of(version, told, tags=b"\x00", rest=b""):
    flexible = version >= 3
    items = [
        b"".join(n.to_bytes(2, "big", signed=True) for n in offer) + (tags if flexible else b"")
        for offer in told
    ]
    count = unsigned(len(items) + 1) if flexible else len(items).to_bytes(4, "big")
    return b"\x00\x00" + count + b"".join(items) + rest


@each_version
@given(offers, st.binary(max_size=30))
def test_each_key_is_offered_up_to_what_is_known_and_from_the_brokers_minimum(version, told, rest):
    """An unknown key is gone, a key known only below the broker's minimum too; what follows is kept."""
    body = body_of(version, told, rest=rest)
    assert narrow_response(version, body) == body_of(version, narrowed(told), rest=rest)


TAGS = b"\x01\x63\x02hi"


@given(offers)
def test_tags_of_an_offer_are_kept(told):
    assert narrow_response(3, body_of(3, told, TAGS)) == body_of(3, narrowed(told), TAGS)


@pytest.mark.parametrize("version", range(5))  # kio knows no 5
@a_few
@given(data=st.data())
def test_kio_reads_the_narrowed_offers_and_all_features(version, data):
    cls = load_response_schema(18, version)
    entity = data.draw(entities(cls))
    if entity.error_code.value == 35:
        return
    found = read(cls, narrow_response(version, written(entity)))
    told = [(o.api_key, o.min_version, o.max_version) for o in entity.api_keys]
    assert [(o.api_key, o.min_version, o.max_version) for o in found.api_keys] == list(narrowed(told))
    for name in cls.__dataclass_fields__.keys() - {"api_keys"}:
        assert getattr(found, name) == getattr(entity, name)


@each_version
def test_error_35_is_the_oldest_form_whatever_was_asked(version):
    body = bytes.fromhex("0023 00000001 0012 0000 0003")
    assert narrow_response(version, body) == body


@each_version
def test_another_error_comes_in_the_form_that_was_asked_for(version):
    """INVALID_REQUEST, for a client software name that is none: no offers, and the rest as it is."""
    rest = b"" if version == 0 else b"\x00\x00\x00\x07" + (b"\x00" if version >= 3 else b"")
    body = b"\x00\x2a" + body_of(version, [], rest=rest)[2:]
    assert narrow_response(version, body) == body


@pytest.mark.parametrize(
    ("version", "body", "software"),
    [
        (0, b"", None),
        (2, b"", None),
        (3, b"\x05libx" + b"\x061.2.3" + b"\x00", "libx/1.2.3"),
        (4, b"\x01\x01\x00", "/"),
        (5, b"\x05libx" + b"\x061.2.3" + b"\x03id" + b"\x00\x00\x00\x02" + b"\x00", "libx/1.2.3"),
        (4, b"\x02\xff\x02\xfe\x00", "\udcff/\udcfe"),
    ],
)
def test_a_client_may_say_what_it_is(version, body, software):
    assert read_client_software(version, body) == software


@pytest.mark.parametrize(
    ("fetch_from", "produce_from"), [(0, 0), (3, 0), (4, 3)], ids=["Kafka 2", "below 4", "Kafka 4"]
)
def test_a_broker_that_takes_no_old_fetch_takes_no_old_produce(fetch_from, produce_from):
    """It offers Produce 0 all the same (KIP-896)."""
    offered = {ApiKey.PRODUCE: (0, 12), ApiKey.FETCH: (fetch_from, 17)}
    assert produce_versions(offered) == (produce_from, 12)


@pytest.mark.parametrize("version", [0, 3])
def test_more_keys_than_kafka_could_have_are_not_read(version):
    """Each key costs a microsecond or two, and nobody but a broken broker tells more than a hundred."""
    told = [(key, 0, 5) for key in range(MAX_KEYS)]
    assert len(read_offers(version, body_of(version, told))) == MAX_KEYS
    for read_one in (read_offers, narrow_response):
        with pytest.raises(DecodeError, match=f"{MAX_KEYS + 1} API keys"):
            read_one(version, body_of(version, [*told, (99, 0, 5)]))
