"""The decision log with Spark: read, checked for completeness, written as a table.

schema        the columns that are read, with their types
read          JSON lines or a table as one DataFrame; unusable lines are set aside (`set_aside`)
sequence      line numbers: which are lost, which came twice
boots         one row for each boot; `completeness` says what they prove
store         a table of lines: Parquet, Delta or Iceberg; `compact` and `stream` write it
late          files that came days after their day was written
replacing     the lines that a partition would lose if it were written again
"""
