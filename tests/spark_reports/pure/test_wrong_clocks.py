"""The times at which the clock of a proxy was wrong, from its log; test_report.py has a day with one."""

from spark_reports.report import wrong_clocks


def test_a_clock_whose_end_the_log_does_not_have_was_wrong_until_its_end():
    rows = [
        {"proxy": "px", "boot": boot, "seq": seq, "ts": "2026-11-20T07:00:00.000Z", "facts": facts}
        for boot, seq, facts in (
            ("a", 1, '{"what": "stepped", "by_ms": -7200000}'),
            ("b", 5, '{"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": true}'),
            ("b", 7, '{"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": true}'),
            ("c", 1, '{"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": true}'),
            ("c", 2, '{"what": "within", "proven": false}'),
            ("d", 1, '{"what": "within", "proven": true}'),
            ("d", 2, None),
        )
    ]
    [wrong] = wrong_clocks.wrong_times(rows)
    assert (wrong["boot"], wrong["from_seq"], wrong["to_ts"]) == ("b", 5, None)
