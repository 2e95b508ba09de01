"""A worker as its supervisor sees it."""

import asyncio
import socket

import pytest

from tsproxy.clock import Clock
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
    member = Member(1, None, Clock(), lambda _: None, asyncio.Lock())
    member._channel = channels[0]
    return member


@pytest.fixture
def worker(channels):
    """The worker's end."""
    return channels[1]
