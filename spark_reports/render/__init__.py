"""report.json in forms that people read: HTML, Markdown, terminal text, a sheet of producers (CSV).

Pure Python from a `shape.Report`, no Spark, no third-party package, no network: a report can be made
again from its report.json in milliseconds. Everything a client could have chosen is escaped.

`markup` makes elements that cannot be injected into, `tables` and `charts` make tables and SVG of them;
`overview`, `producers`, `plots` and `lists` are the parts of the page that `html` puts together. `balance` is
the sum that all three renderers show.
"""
