"""Answers whose addresses cannot be rewritten, and so are left out: a table by API key.

The proxy serves brokers, by their ids. These answers have addresses as plain text, or
those of controllers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.wire import k32_describe_configs, k33_k44_alter_configs, k55_describe_quorum
from tsproxy.wire.primitives import Reader

Body = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Masking:
    """How one API is masked. Both functions take the version first.

    `answer_may_contain_addresses` reads the request: an answer that cannot contain any streams through.
    `mask_addresses` returns the reader's answer without addresses. It raises DecodeError, and what the reader
    raises.
    """

    answer_may_contain_addresses: Callable[[int, Body], bool]
    mask_addresses: Callable[[int, Reader], bytes]


MASKED: Final[dict[int, Masking]] = {
    ApiKey.DESCRIBE_CONFIGS: Masking(
        k32_describe_configs.may_contain_addresses, k32_describe_configs.mask_addresses
    ),
    ApiKey.ALTER_CONFIGS: Masking(
        k33_k44_alter_configs.may_contain_addresses, k33_k44_alter_configs.mask_alter_configs
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Masking(
        k33_k44_alter_configs.may_contain_addresses, k33_k44_alter_configs.mask_incremental_alter_configs
    ),
    ApiKey.DESCRIBE_QUORUM: Masking(
        k55_describe_quorum.may_contain_addresses, k55_describe_quorum.mask_addresses
    ),
}
