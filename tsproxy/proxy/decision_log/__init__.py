"""Where the lines of the decision log go, beside the event loop and never in its way.

    files       the face: a bounded queue, and the thread that empties it into files
    sequence    one file after the other, by age and size
    open_file   one file while it is written: whole lines, or none
    folder      the files' names, those that a killed process left open, those that are old enough to go
    topic       the same lines in a Kafka topic, sent from the files
    unsent      how far that is, for each boot
    salt        the secret behind hashed addresses and principals

Non-goals: no encryption at rest, no compression (a shipper or `spark_reports compact` does that).
"""
