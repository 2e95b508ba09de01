"""DescribeConfigs without addresses, against an independent library's layouts."""

import importlib
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i32Timedelta

from tests.wire.entities import read, written
from tsproxy.wire.k32_describe_configs import (
    MAX_KEYS_READ,
    contains_addresses,
    mask_addresses,
    may_contain_addresses,
)
from tsproxy.wire.primitives import Reader

VERSIONS = (1, 2, 3, 4)
ADDRESS = "PLAINTEXT://planted.example:9092"


def module(version: int) -> Any:
    return importlib.import_module(f"kio.schema.describe_configs.v{version}.response")


def response(version: int, values: dict[str, str | None]) -> Any:
    """An answer about one broker; every configuration has its own value for its synonym too."""
    kio = module(version)
    more = {"config_type": i8(2), "documentation": "words"} if version >= 3 else {}
    configs = tuple(
        kio.DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=False,
            config_source=i8(4),
            is_sensitive=False,
            synonyms=(kio.DescribeConfigsSynonym(name=name, value=value, source=i8(4)),),
            **more,
        )
        for name, value in values.items()
    )
    result = kio.DescribeConfigsResult(
        error_code=ErrorCode.none, error_message=None, resource_type=i8(4), resource_name="1", configs=configs
    )
    throttle = i32Timedelta.parse(timedelta())
    return kio.DescribeConfigsResponse(throttle_time=throttle, results=(result, result))


@pytest.mark.parametrize("version", VERSIONS)
def test_values_that_name_brokers_become_null_and_all_else_stays(version: int) -> None:
    plain: dict[str, str | None] = {"log.retention.ms": "1000", "ssl.keystore.password": None}
    told = {
        "advertised.listeners": ADDRESS,
        "listeners": ADDRESS,
        "controller.quorum.bootstrap.servers": ADDRESS,
    }
    masked = mask_addresses(version, Reader(written(response(version, plain | told))))
    assert masked == written(response(version, plain | dict.fromkeys(told)))
    told_now = read(module(version).DescribeConfigsResponse, masked)
    assert {c.value for r in told_now.results for c in r.configs} == {"1000", None}


def test_version_0_has_is_default_where_later_ones_have_the_source() -> None:
    """KIP-226. 3.9 brokers speak it; the independent library does not."""
    head = bytes(4) + b"\0\0\0\1" + b"\0\0" + b"\xff\xff" + b"\4" + b"\0\1" + b"1" + b"\0\0\0\1"
    name, flags = b"\0\x09" + b"listeners", b"\1\0\0"
    value = len(ADDRESS).to_bytes(2, "big") + ADDRESS.encode()
    assert mask_addresses(0, Reader(head + name + value + flags)) == head + name + b"\xff\xff" + flags


@pytest.mark.parametrize(
    ("name", "is_address"),
    [
        ("advertised.listeners", True),
        ("rlmm.config.remote.log.metadata.common.client.bootstrap.servers", True),
        ("controller.quorum.voters", True),
        *[(name, True) for name in ("host.name", "port", "advertised.host.name", "advertised.port")],
        ("zookeeper.connect", True),
        ("listener.security.protocol.map", False),
        ("max.connections", False),
    ],
)
def test_which_configurations_name_brokers(name: str, is_address: bool) -> None:
    assert contains_addresses(name) is is_address


def asked(version: int, resources: list[tuple[int, str, tuple[str, ...] | None]]) -> bytes:
    kio = importlib.import_module(f"kio.schema.describe_configs.v{version}.request")
    return written(
        kio.DescribeConfigsRequest(
            resources=tuple(
                kio.DescribeConfigsResource(
                    resource_type=i8(kind), resource_name=name, configuration_keys=keys
                )
                for kind, name, keys in resources
            )
        )
    )


TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, OF_THE_FUTURE = 2, 4, 8, 16, 32, 64


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, OF_THE_FUTURE])
@pytest.mark.parametrize(
    "before", [(), ((TOPIC, "orders", ("retention.ms", "cleanup.policy")), (GROUP, "g", None))]
)
def test_addresses_may_come_where_a_broker_is_named_or_what_is_not_known_to_have_none(
    version: int, kind: int, before: tuple[tuple[int, str, tuple[str, ...] | None], ...]
) -> None:
    body = asked(version, [*before, (kind, "1", ())])

    assert may_contain_addresses(version, body) is (kind not in (TOPIC, CLIENT_METRICS, GROUP))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_cannot_be_read_may_bring_addresses(version: int) -> None:
    """It is the broker's to reject, or to read as it likes."""
    body = asked(version, [(TOPIC, "orders", ("retention.ms",))])
    behind = 3  # at most: whether synonyms and documentation are wanted, no tags
    for size in range(len(body) - behind):
        assert may_contain_addresses(version, body[:size])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_for_very_much_is_not_read_to_its_end(version: int) -> None:
    most = MAX_KEYS_READ // 2

    assert not may_contain_addresses(version, asked(version, [(TOPIC, "t", ("k",))] * most))
    assert may_contain_addresses(version, asked(version, [(TOPIC, "t", ("k",))] * (most + 1)))
