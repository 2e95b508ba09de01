"""The chart's schema refuses each value of tsproxy's keys that Helm would change on its way to the proxy."""

import json

import pytest

from tests.config.test_schema import leaves
from tests.decisions.conformance import fits
from tests.documents.values_schema import CHART, own_keys
from tsproxy.config.tree import KEYS

VALUES = json.loads((CHART / "values.schema.json").read_text("utf-8"))["properties"]
ALL = {
    **dict(leaves(VALUES["config"], "")),
    **dict(leaves(VALUES["upstream"]["properties"]["admin"], "upstream.admin")),
    **dict(leaves(VALUES["listener"]["properties"]["settings"], "listeners[]")),
}
FORMS = {path: form for path, form in ALL.items() if form}
"""The part of the values' schema for each key of tsproxy that a user sets."""

NUMBERS = {"0123": 83, "0x10": 16, "1e3": 1000, "9223372036854775807": 2**63 - 1, "9007199254740993": 2**53}
AS_HELM_READS = NUMBERS | {
    "2026_11": 202611,
    "1_000": 1000,
    ".5": 0.5,
    "on": True,
    "yes": True,
    "no": False,
    "off": False,
    "~": None,
}
"""Texts in a file of values, and what Helm makes of them."""


@pytest.mark.parametrize("text", AS_HELM_READS)
def test_a_text_that_helm_changes_is_refused_where_it_would_mean_something_else(text):
    read = AS_HELM_READS[text]
    taken = [key for key in KEYS if key.path in FORMS and fits(read, FORMS[key.path])]
    listed = [key for key in KEYS if key.is_list and key.path in FORMS and fits([read], FORMS[key.path])]
    assert listed == []
    for key in taken:
        if text in NUMBERS and key.kind.bounds:
            assert abs(read) < 2**53  # a number is written as YAML writes numbers
        else:
            assert key.kind.parse(text) == key.kind.parse(json.dumps(read)), key.path


def test_a_number_is_taken_without_quotes_where_the_proxy_reads_one():
    assert fits(604_800_000, FORMS["policy.defaults.message.timestamp.before.max.ms"])
    assert fits("604800000", FORMS["policy.defaults.message.timestamp.before.max.ms"])
    assert fits(1_000_000, FORMS["limits.records_per_batch"])


def test_each_key_is_in_the_schema_or_written_by_the_chart():
    own = own_keys()
    written = [*own["config"], *(f"listeners[].{name}" for name in own["listener.settings"])]
    free = [key.path for key in KEYS if not any(f"{key.path}.".startswith(f"{path}.") for path in written)]
    admin = [key.path for key in KEYS if key.path.startswith("upstream.admin.")]
    assert sorted(FORMS) == sorted([*free, *admin])
