"""The outbox: events that a service writes beside its own rows, in one transaction of its database, into topics.

`windows` decides what may be read (PostgreSQL), `routing` what an event becomes (Debezium's conventions), `tables`
reads the databases, `source` is the streaming source of Spark. Those who consume find a log against duplicates in
`tidelog.spark.databases.message_log`.
"""
