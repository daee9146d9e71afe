"""The outbox: events that a service writes beside its own rows, in one transaction of its database, into topics.

Decided without I/O: `routing` (what an event becomes, with Debezium's conventions), `marks` (is this still the database
that a position was taken from), `windows` (what may be read of a table in PostgreSQL), `log_positions`, `log_changes`
and `pgoutput` (what is read of its write-ahead log). `tables` says what an outbox can do; `postgresql_table`,
`postgresql_log` and `sqlite_table` do it. `source` is the streaming source of Spark. Those who consume find a log
against duplicates in `tidelog.spark.databases.message_log`.
"""
