"""Spark's last error becomes a sentence, with advice if there is any."""

import pytest

from spark_reports.commands.spark_run import explained

CUT = (
    "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file "
    "file:///in/a.jsonl.gz.  SQLSTATE: KD001"
)
OVERFLOW = (
    "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate overflow and return NULL instead. If "
    'necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003'
)
NOT_WRITTEN = [
    "org.apache.spark.SparkException: [TASK_FAILED] Task failed while writing to file:/out. SQLSTATE: 58030",
    "java.io.IOException: Mkdirs failed to create file:/out",
]
NO_BUCKET = [
    "org.apache.hadoop.fs.s3a.UnknownStoreException: `s3a://lack/days': getFileStatus on s3a://lack/days: "
    "software.amazon.awssdk.services.s3.model.NoSuchBucketException: The specified bucket does not exist "
    "(Service: S3, Status Code: 404, Request ID: 87KC) (SDK Attempt Count: 1):NoSuchBucket: The specified "
    "bucket does not exist (Service: S3, Status Code: 404, Request ID: 87KC) (SDK Attempt Count: 1)",
    "software.amazon.awssdk.services.s3.model.NoSuchBucketException: The specified bucket does not exist "
    "(Service: S3, Status Code: 404, Request ID: 87KC) (SDK Attempt Count: 1)",
]
"""The texts of hadoop-aws 3.5.0."""
FORBIDDEN = (
    "software.amazon.awssdk.services.s3.model.S3Exception: null (Service: S3, Status Code: 403, Request ID: X"
    ", Extended Request ID: Y) (SDK Attempt Count: 1)"
)


@pytest.mark.parametrize(
    ("texts", "line", "advice"),
    [
        (
            [CUT, "java.io.EOFException: Unexpected end of input stream"],
            "Encountered error while reading file file:///in/a.jsonl.gz: Unexpected end of input stream. ",
            "--skip-damaged-files",
        ),
        (
            [CUT, "java.io.FileNotFoundException: /in/a.jsonl (Permission denied)"],
            "Encountered",
            "the right to read",
        ),
        (
            NOT_WRITTEN,
            "Task failed while writing to file:/out: Mkdirs failed to create file:/out. ",
            "may not write there",
        ),
        (
            NO_BUCKET,
            "`s3a://lack/days': getFileStatus on s3a://lack/days: The specified bucket does not exist "
            "(Status Code: 404):NoSuchBucket: The specified bucket does not exist (Status Code: 404). Check",
            "the name of the place",
        ),
        # The cause is in the status or in the class, and a path may look like a class.
        (
            [f"java.nio.file.AccessDeniedException: s3a://a.B: getFileStatus on s3a://a.B: {FORBIDDEN}:null"],
            "s3a://a.B: getFileStatus on s3a://a.B: null (Status Code: 403):null. Check",
            "the credentials",
        ),
        (["Conflicting partition column names detected:\n\tPartition"], "Conflicting", "run it again"),
        (["Cannot connect to it", "java.io.IOException: nn"], "Cannot connect to it: nn", ""),
        (["x: jdk.net.UnknownHostException: nn1"], "x: jdk.net.UnknownHostException: nn1", ""),
        (['x: No FileSystem for scheme "foo"'], "x: No FileSystem", "hadoop-aws for s3a"),
        (["[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\nand a plan"], "Division by zero", ""),
        ([OVERFLOW], "overflow. A sum does not fit into 64 bits", ""),
        (["java.lang.OutOfMemoryError: " + "x" * 1_000], "x" * 300 + "…", ""),
    ],
)
def test_a_failure_is_one_line_with_what_to_do(texts, line, advice):
    found = explained(texts)
    assert found.startswith(line)
    assert advice in found
    assert "\n" not in found
    assert not any(
        noise in found
        for noise in ("SQLSTATE", "ansi", "try_add", "org.apache.spark.SparkException", "java.")
    )
