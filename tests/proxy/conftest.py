"""A worker as its supervisor sees it, and admin ports."""

import asyncio
import socket

import pytest

from tsproxy.clock import Clock
from tsproxy.config.settings import AdminSettings
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.http import AdminHttp
from tsproxy.proxy.workers.channel import Channel
from tsproxy.proxy.workers.member import Member


@pytest.fixture
async def channels():
    """The supervisor's end of a channel, and the worker's."""
    ends = [await Channel.over(end) for end in socket.socketpair()]
    yield ends
    for end in reversed(ends):
        await end.close()


@pytest.fixture
def member(channels):
    member = Member(1, None, Clock(), lambda _: None, asyncio.Lock(), lambda: None)
    member._channel = channels[0]
    return member


@pytest.fixture
async def serve():
    """A function that serves pages at an admin port, and returns its address."""
    servers = []

    def served(pages, settings=None, tls=None):
        servers.append(AdminHttp(pages, lambda: settings or AdminSettings(), tls))
        return servers[-1].start(Address("127.0.0.1", 0))

    yield served
    for server in servers:
        server.stop()


@pytest.fixture
def worker(channels):
    """The worker's end."""
    return channels[1]
