"""`tsproxy scan`: finds the partitions of a cluster whose newest timestamp lies in the future.

`cluster` queries the cluster (Metadata, ListOffsets MAX_TIMESTAMP of every leader, DescribeConfigs; it reads
no record), `retention` says what an answer means for the retention of records, `survey` combines the two,
`tables` prints the result.
"""
