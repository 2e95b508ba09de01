"""The names of topics that a ProduceRequest names by id, from version 13 on (KIP-516).

Rules and limits need the name of a topic. So a request with an id whose name is not known yet waits for the
name, for at most `NAME_WAIT_MS`. Then it is judged like a request for a topic whose limits are not known: by
the rules that fit any topic. If the proxy cannot read names, clients are offered version 12.
"""

from collections.abc import Collection
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.produce import ProduceRequest
from tsproxy.model.view import View
from tsproxy.wire.apis import APIS
from tsproxy.wire.k00_produce import NO_NAMES, TOPIC_IDS_FROM, TopicNames

NAME_WAIT_MS: Final = 1_000
MOST_WAITED_FOR: Final = 1_000
"""Maximum number of ids that one session remembers because their names did not come in time."""


def newest_produce(view: View) -> int:
    """The newest version of Produce that clients are offered."""
    return TOPIC_IDS_FROM - 1 if view.topic_names is None else APIS[ApiKey.PRODUCE].max_version


def names_of(view: View) -> TopicNames:
    return NO_NAMES if view.topic_names is None else view.topic_names


class WaitedFor:
    """The ids of one session whose names did not come in time: no other request waits for them."""

    def __init__(self) -> None:
        self._ids: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._ids)

    def missing(self, request: ProduceRequest, names: TopicNames) -> Collection[bytes]:
        """The ids of the request without a name, except those for which the session has waited before."""
        ids = {topic.topic_id for topic in request.topics if topic.topic_id is not None}
        return {each for each in ids if each not in names and each not in self._ids}

    def add(self, ids: Collection[bytes]) -> None:
        if len(self._ids) + len(ids) > MOST_WAITED_FOR:
            self._ids.clear()
        self._ids.update(ids)
