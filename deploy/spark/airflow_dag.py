"""Airflow: yesterday's log as a table, then its report, every morning. For Airflow's own environment.

Needs apache-airflow-providers-apache-spark and a connection `spark_default`. Every task may be repeated, so
retries and backfills are safe.
"""

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator  # type: ignore[import-not-found]  # Airflow's own
from airflow.sdk import DAG  # type: ignore[import-not-found]  # likewise

SPARK = {
    "application": "/opt/tsproxy/main.py",
    "py_files": "/opt/tsproxy/spark_reports-pyfiles.zip",
    "conn_id": "spark_default",
}
COMPACT = ["compact", "--date", "{{ ds }}", "--input", "s3a://lake/tsproxy", "--output", "s3a://lake/lines"]
DAILY = [
    *("daily", "--date", "{{ ds }}", "--input", "s3a://lake/lines", "--input-format", "parquet"),
    *("--rollup", "s3a://lake/rollup", "--output", "/srv/reports/{{ ds }}", "--fail-on", "rejected_rate>1%"),
]

with DAG(
    "tsproxy_reports",
    schedule="30 1 * * *",
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=False,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
):
    compact = SparkSubmitOperator(task_id="compact", application_args=COMPACT, **SPARK)
    daily = SparkSubmitOperator(task_id="daily", application_args=DAILY, **SPARK)
    compact >> daily
