"""Airflow 3: yesterday's log as a table, then its report, every morning. For Airflow's own environment.

Needs apache-airflow-providers-apache-spark and a connection `spark_default`. Every task may be repeated, so
retries and backfills are safe.

The DAG names its timetable. With a plain cron line Airflow 3 would set `{{ ds }}` to the day of the run; here
it is the day that is over. After `compact`, data that came late for the day before that is in its table, and
`daily_before` makes that day's report and rollup again. The very first run has no day before.
"""

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator  # type: ignore[import-not-found]  # Airflow's own
from airflow.sdk import DAG, CronDataIntervalTimetable  # type: ignore[import-not-found]  # likewise

SPARK = {
    "application": "/opt/tsproxy/main.py",
    "py_files": "/opt/tsproxy/spark_reports-pyfiles.zip",
    "conn_id": "spark_default",
}
DAY = "{{ ds }}"
DAY_BEFORE = "{{ macros.ds_add(ds, -1) }}"
COMPACT = ["compact", "--date", DAY, "--input", "s3a://lake/tsproxy", "--output", "s3a://lake/lines"]


def daily(day: str) -> list[str]:
    """The arguments for a day's report."""
    return [
        *("daily", "--date", day, "--input", "s3a://lake/lines", "--input-format", "parquet"),
        *("--rollup", "s3a://lake/rollup", "--output", f"s3a://lake/reports/{day}"),
    ]


with DAG(
    "tsproxy_reports",
    schedule=CronDataIntervalTimetable("30 1 * * *", timezone="UTC"),
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    max_active_tasks=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
):
    compact = SparkSubmitOperator(task_id="compact", application_args=COMPACT, **SPARK)
    before = SparkSubmitOperator(
        task_id="daily_before", application_args=daily(DAY_BEFORE), priority_weight=2, **SPARK
    )
    today = SparkSubmitOperator(
        task_id="daily", application_args=[*daily(DAY), "--fail-on", "rejected_rate>1%"], **SPARK
    )
    compact >> [before, today]
