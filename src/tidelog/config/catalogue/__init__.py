"""The broker properties of Kafka's server.properties, in tables by subject."""
