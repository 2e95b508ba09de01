"""The doctor's findings about the rights of the proxy's own user."""

import pytest

from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.config import load
from tsproxy.config.document import parse_yaml
from tsproxy.doctor.permissions import Rights, examine
from tsproxy.model.kafka import ErrorCode

CONFIG = load(
    parse_yaml(
        "upstream: { bootstrap_servers: ['broker:9092'] }\nlisteners: [{ bind: '127.0.0.1:9192' }]\n", "test"
    ),
    {},
)
NO_SUCH_TOPIC = TopicAnswer("probe", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {})
DESCRIBED = TopicAnswer("t", ErrorCode.NONE, {})


@pytest.mark.parametrize(
    ("visible", "sees_all", "described", "of_limits", "of_names"),
    [
        ((), True, NO_SUCH_TOPIC, "skipped", "ok"),
        ((), False, NO_SUCH_TOPIC, "skipped", "warning"),
        (("t",), True, DESCRIBED, "ok", "ok"),
        (("t",), False, DESCRIBED, "ok", "warning"),
    ],
)
def test_a_right_that_was_not_tried_is_not_called_granted(visible, sees_all, described, of_limits, of_names):
    limits, names, *_ = examine(CONFIG, Rights(visible, sees_all, [described]))
    assert (limits.grade.value, names.grade.value) == (of_limits, of_names)
    assert ("none was asked" in limits.text) is not visible
    assert ("Produce 12 at most" in names.text) is not sees_all
