"""report.json for people: pages, and a sheet of producers (CSV).

A page is sections of the few kinds of parts in `parts`, which escape all text. `day`, `teams` and `index`
put pages together, and `html` writes them.

The renderers are plain Python without Spark, other packages or a network: they make a report again from its
report.json in milliseconds.
"""
