"""report.json for people: HTML, Markdown, and a sheet of producers (CSV).

The renderers are plain Python without Spark, other packages or a network: they make a report again from its
report.json in milliseconds. All text that a client may choose is escaped.

`html` puts the page together from its sections, each made in a module of its own. `pages` makes the pages of
teams and topics from the same parts.
"""
