"""The report: from lines to report.json.

`transforms` (DataFrame -> DataFrame) and `groups` say what is computed, `tables` collects the rows, and
`assemble` makes report.json of them, in plain Python. `shape` has all its keys.
"""
