"""Who decides whether and how strictly a batch is judged: a table, and clients that try to change it.

inputs    the table: each input, who controls it, what it may change. docs/evidence/threat-model.md prints it
attempts  what a client does with each input that it controls
talk      sessions with a broker that stores everything, and an oracle for what they forward
"""
