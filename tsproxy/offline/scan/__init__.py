"""`tsproxy scan`: the partitions of a cluster whose newest timestamp lies in the future.

`cluster` asks (Metadata, ListOffsets MAX_TIMESTAMP of every leader, DescribeConfigs; no record is
read), `retention` says what an answer means for what is kept, `survey` puts the two together, `tables`
prints it.
"""
