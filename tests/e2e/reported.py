"""The report on a decision log, made with the Spark session of the run: another start would take seconds."""

import json

from tests.in_process import run_command
from tsproxy.clock import Clock
from tsproxy.decisions.text import instant


def report_on(log, folder, began_ms, *options):
    """report.json of the days since `began_ms`, by `spark_reports daily`. Needs the fixture `spark`.

    Spark's session belongs to a thread, so this blocks the event loop.
    """
    days = f"{instant(began_ms)[:10]}..{instant(Clock().now_ms())[:10]}"
    done = run_command(
        "spark_reports", "daily", "--date", days, "--input", log, "--output", folder, "--quiet", *options
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads((folder / "report.json").read_text())
