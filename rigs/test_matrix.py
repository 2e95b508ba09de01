import json

from rigs.matrix import KAFKAS, SPARKS, TABLE, as_table, kept

ROWS = json.loads(TABLE.read_text())


def test_each_promised_version_was_run_and_was_good():
    run = {(row["what"], row["version"]): row["result"] for row in ROWS}
    promised = [("Spark", version) for version in SPARKS] + [("Kafka", version) for version in KAFKAS]
    assert [name for name in promised if run.get(name, "other").startswith("other")] == []


def test_a_version_is_run_again_with_the_same_java_or_another():
    old = {"what": "Spark", "version": "4.2.1", "with": "Java 17", "result": "equal"}
    newer, other = old | {"result": "other: trend"}, old | {"with": "Java 25"}
    assert kept([old], newer) == [newer]
    assert kept([old], other) == [old, other]
    kafka = old | {"what": "Kafka", "version": "4.10.0"}
    assert kept([old, kafka], kafka | {"version": "4.9.0"}) == [kafka | {"version": "4.9.0"}, kafka, old]


def test_the_table_has_each_version():
    lines = as_table().splitlines()
    assert [r for r in ROWS if not any(r["version"] in line and r["with"] in line for line in lines)] == []
