"""Airflow 2.10 and later: every morning yesterday's table and report, then the gates. For Airflow's own
environment.

Needs apache-airflow-providers-apache-spark, a connection `spark_default`, and a Spark with `spark-submit` on
the machines that run the tasks: the provider brings pyspark-client only, which has neither Spark nor
spark-submit. For s3a, that Spark needs hadoop-aws (`packages`), and credentials.

`daily` may be repeated, so retries and backfills are safe. A gate that trips (exit code 3) is no failure of
Spark, and a retry would not change it: `gate` is a task of its own, without retries, that reads report.json,
however `daily` ended. Change its trigger rule, or what follows it, if a gate should warn and not fail.

The DAG names its timetable. With a plain cron line Airflow 3 would set `{{ ds }}` to the day of the run; here
it is the day that is over.
"""

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator  # type: ignore[import-not-found]  # a package of Airflow

try:
    from airflow.sdk import DAG  # type: ignore[import-not-found]  # a package of Airflow
except ImportError:  # Airflow 2
    from airflow import DAG  # type: ignore[import-not-found]
try:
    from airflow.sdk import CronDataIntervalTimetable
except ImportError:  # before Airflow 3.2
    from airflow.timetables.interval import CronDataIntervalTimetable  # type: ignore[import-not-found]

SPARK = {
    "application": "/opt/tsproxy/main.py",
    "py_files": "/opt/tsproxy/spark_reports-pyfiles.zip",
    "conn_id": "spark_default",
    "packages": "org.apache.hadoop:hadoop-aws:3.5.0",  # the version of Hadoop's jars in that Spark
}
ALONE = SPARK | {"retries": 0, "trigger_rule": "all_done"}
DAY = "{{ ds }}"
LAKE = "s3a://lake"
DAILY = ["daily", "--date", DAY, "--input", f"{LAKE}/tsproxy", "--store", LAKE]
GATE = ["gate", f"{LAKE}/reports/{DAY}", "--fail-on", "rejected_rate>1%", "--fail-on", "incomplete>0"]


with DAG(
    "tsproxy_reports",
    schedule=CronDataIntervalTimetable("30 1 * * *", timezone="UTC"),
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags=["kafka", "tsproxy"],
    default_args={
        "owner": "platform",
        "retries": 2,
        "retry_delay": timedelta(minutes=10),
        "execution_timeout": timedelta(hours=2),
    },
):
    daily = SparkSubmitOperator(task_id="daily", application_args=DAILY, **SPARK)
    gate = SparkSubmitOperator(task_id="gate", application_args=GATE, **ALONE)
    daily >> gate
