"""tidelog: Kafka in Python, exactly once end to end."""

__version__ = "0.1.0"
