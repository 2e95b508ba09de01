"""The decision log with Spark: read, checked for completeness, written as a table."""
