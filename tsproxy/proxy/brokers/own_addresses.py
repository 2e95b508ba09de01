"""Finds out whether an upstream is the proxy itself. Pure; no name is looked up.

Until brokers are known a listener rejects connections, so a proxy that is its own upstream never becomes
ready. A proxy that reaches a second proxy with the same configuration, through a load balancer or a DNS name,
gets brokers with exactly the addresses that it advertises itself.
"""

from collections.abc import Mapping, Sequence

from tsproxy.config.settings import BrokerHosts, Listener
from tsproxy.model.addresses import Address, ip_or_none, is_any


def own_listener(address: Address, listeners: Sequence[Listener]) -> str | None:
    """The name of the listener that accepts connections to `address`; None if there is none."""
    for listener in listeners:
        if address.port == listener.bind.port and _is_at(address.host, listener):
            return listener.name
    return None


def listener_at(brokers: Mapping[int, Address], listeners: Sequence[Listener]) -> str | None:
    """The name of the listener that advertises all these brokers at exactly these addresses.

    That can be correct if clients and the proxy resolve the same names differently.
    """
    for listener in listeners:
        if brokers and all(_serves(listener, node_id, at) for node_id, at in brokers.items()):
            return listener.name
    return None


def _is_at(host: str, listener: Listener) -> bool:
    bind = listener.bind.host
    return host in (bind, listener.advertised_host) or (_is_local(host) and (_is_local(bind) or is_any(bind)))


def _serves(listener: Listener, node_id: int, address: Address) -> bool:
    brokers = listener.brokers
    if isinstance(brokers, BrokerHosts):
        return address == Address(brokers.host_of(node_id), listener.bind.port)
    return address == Address(listener.advertised_host, brokers.port_of(node_id) or 0)


def _is_local(host: str) -> bool:
    address = ip_or_none(host)
    return host == "localhost" if address is None else address.is_loopback
