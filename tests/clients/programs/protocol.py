"""The lines between a client's program and the play, and the loop that serves them in Python.

Fields are parted by tabs. In:
    option NAME VALUE                   how to connect: `plain_words` for most, a library's own for some;
                                        and `client.id`
    connect                             makes the producer (acks=all, idempotent) and the admin client
    create TOPIC REPLICAS               a topic of three partitions
    produce TOPIC PARTITION VALUE       returns when the record is acknowledged: its offset
    batch TOPIC (VALUE TIMESTAMP)...    sends one batch, by a second idempotent producer, the same each time:
                                        of each record, `stored` or what the client says. Without idempotence
                                        if the option `idempotence` is `no` (aiokafka, kafka-python)
    join GROUP TOPIC                    becomes a member, from the earliest record on
    poll COUNT                          every value seen so far, once there are COUNT, or patience ends
    offsets TOPIC                       PARTITION=END ...
    brokers                             ID=HOST:PORT ...
    transact TOPIC ID KEPT DROPPED      commits one record, aborts one: what a reader of committed ones sees
    send TOPIC PARTITION VALUE TIMESTAMP   sends a record without waiting (Java)
    told                                of each such record, `stored` or what the client says (Java)
    refuse TOPIC ID TIMESTAMP           sends a good record and one of that time in a transaction, then a good
                                        record in each of two others. Commits each, and aborts it if that
                                        fails: (step, what the client says)... (Java, librdkafka, aiokafka)
    close                               leaves the group, closes, ends the program
Out, for every line but `option`: `done FIELD...`, or `failed TEXT`. The end of the input ends the program.
"""

import asyncio
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

PARTITIONS = 3
STORED = "stored"
PATIENCE_S = 120
"""How long a client may look for what is there."""


async def serve(client: Any) -> None:
    """Obey lines by the client's methods of the same names, plain or asynchronous."""
    options: dict[str, str] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        command, *words = line.rstrip("\n").split("\t")
        if command == "option":
            options[words[0]] = words[1]
            continue
        method = getattr(client, command)
        arguments = [options] if command == "connect" else words
        try:
            if inspect.iscoroutinefunction(method):
                told = await method(*arguments)
            else:
                told = await asyncio.to_thread(method, *arguments)
        except Exception as error:  # whatever a library raises is what the play wants to hear
            print("failed", text_of(error), sep="\t", flush=True)
        else:
            print("done", *(told or ()), sep="\t", flush=True)
        if command == "close":
            return


def text_of(error: BaseException) -> str:
    """The library's text, on one line."""
    return f"{type(error).__name__}: {error}".replace("\t", " ").replace("\n", " ")


def is_idempotent(options: Mapping[str, str]) -> bool:
    """Whether the producer of `batch` is."""
    return options.get("idempotence") != "no"


def timed(words: Sequence[str]) -> list[tuple[bytes, int]]:
    """The records of a `batch`: (value, timestamp in ms)."""
    return [(value.encode(), int(time)) for value, time in zip(words[::2], words[1::2], strict=True)]
