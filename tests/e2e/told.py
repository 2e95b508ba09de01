"""The answer that a kafka-python producer gives for one record."""

from kafka.errors import KafkaError

PATIENCE_S = 120


def is_stored(future):
    """Whether the broker acknowledged the record. `flush` would give up where a batch was split."""
    try:
        future.get(PATIENCE_S)
    except KafkaError:
        return False
    return True
