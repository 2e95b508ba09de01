"""Stores the lines of the decision log, without blocking the event loop.

    recorder    receives outcomes, and makes lines and metrics of them
    files       a bounded queue of lines, and the thread that writes them
    rotation    one file after another, by age and size; tidies the folder
    open_file   one file while it is written, which only ever holds whole lines
    topic       sends the same lines from the files to a Kafka topic
    unsent      how far each boot's lines have been sent
    salt        the secret behind hashed addresses and principals

Non-goals: no encryption at rest, no compression (a shipper or `spark_reports compact` does that).
"""
