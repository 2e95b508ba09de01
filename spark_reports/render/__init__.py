"""report.json for people: HTML, Markdown, and a sheet of producers (CSV).

A page is data: sections of the few kinds of parts in `parts`. `day`, `pages`, `teams` and `index` put pages
together. `html` and `markdown` write them, and know nothing but these kinds. They escape all text.

The renderers are plain Python without Spark, other packages or a network: they make a report again from its
report.json in milliseconds.
"""
