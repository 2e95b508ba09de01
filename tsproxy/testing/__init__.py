"""The kit that runs real Apache Kafka and drives real clients: no containers, no build tool.

    async with KafkaCluster(version="4.3.1") as kafka:
        await kafka.create_topic("orders", config={"message.timestamp.after.max.ms": "3600000"})

Shared by the tests, the demo and the benchmarks, and usable in anybody's own integration tests.
It needs Java 17 or newer and the `reports` extra (pyspark ships the resolver that fetches the
jars); TLS also needs `cryptography`.

    java             finds Java, or says in one sentence what to install
    jars             fetches jars once, into the user's cache
    kafka_cluster    one to three real brokers, any listener security, always stopped
    client_options   how aiokafka, librdkafka and Java clients reach it, or a proxy before it
    java_producer    Kafka's own Java producer, record by record, with its answers
    certificates     an authority and PEM files made for the occasion
    ports            free ports
    rules            for authors of rules: batches and a clock, made up, and a check in one line

This module imports nothing, so that `python -m tsproxy.testing.java` runs on a bare machine.

Non-goals: no imitation of a broker, no production set-up; data and keys live as long as the test.
"""
