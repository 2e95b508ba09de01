"""Runs real Apache Kafka brokers and a real proxy: no containers, no build tool.

    async with KafkaCluster(version="4.4.0") as kafka:
        await kafka.create_topic("orders", config={"message.timestamp.after.max.ms": "3600000"})

This is a public package: README.md says how to use it in your own integration tests. The tests, the
demo and the benchmarks of this project use it, too. It needs Java 17 or newer and the extra `testing`:
`jgo`, which reads what a jar needs, and `cryptography` for TLS.

    __main__         `python -m tsproxy.testing`: a broker until Ctrl-C
    java             finds Java, or says in one sentence what to install
    jars             fetches jars once, from Maven Central or its mirror, into the user's cache
    kafka_cluster    one to three real brokers, any listener security, always stopped
    proxy            `tsproxy run` as a process, always stopped
    client_options   options with which aiokafka, librdkafka and Java clients connect
    tools            Kafka's own command line tools, as scripts
    certificates     a certificate authority for one test run, and PEM files
    ports            free ports
    fixtures         a plug-in of pytest with the fixtures that most tests need
    rules            for authors of custom rules: batches, a clock, and a check in one line

This module imports nothing, so that `python -m tsproxy.testing.java` runs on a bare machine.

Non-goals: it does not imitate brokers and is not for production; data and keys live as long as the test.
"""
