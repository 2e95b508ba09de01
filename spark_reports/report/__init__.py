"""The report: from lines to report.json.

transforms    DataFrame -> DataFrame, one function for each table
rollup        the two small tables of each day that `trend` and `what-if` read
tables        runs the transforms and collects their rows
assemble      rows -> report.json, in plain Python; `producers`, `headline` and `what_if` make parts of it
shape         all keys of report.json; `json_schema` writes them as JSON Schema
words         numbers, durations, causes and fixes as text; `missing`, `topics` and `notices` make sentences
reasons       the rows of causes
causes        producers in groups, one for each cause
gates         `--fail-on`
files         report.* on disk or on another file system
"""
