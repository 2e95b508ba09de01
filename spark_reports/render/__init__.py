"""report.json for people: HTML, Markdown, terminal text, and a sheet of producers (CSV).

The renderers are plain Python without Spark, other packages or a network: they make a report again from its
report.json in milliseconds. All text that a client may choose is escaped.

`tables`, `lines` and `charts` make tables, lists whose lines open, and SVG of `tsproxy.model.markup`.
`talk`, `pictures`, `producers`, `plots`, `lists`, `compared`, `rules`, `owners` and `navigation` are parts of
the page that `html` puts together from its sections; `pages` makes those of teams and topics from the same
parts. `balance` is the sum that all renderers show. `index` is a page over all days, and `document` is the
frame of all pages.
"""
