"""The outbox: events that a service writes beside its own rows, in one transaction of its database, into topics.

    source.py                 the streaming source of Spark
    tables.py                 what an outbox must be able to do
    routing.py                from a row to a message, with Debezium's conventions. Pure
    marks.py                  is this still the database that a position was taken from? Pure
    windows.py                which rows of a PostgreSQL table may be read. Pure
    postgresql_table.py       polls a table in PostgreSQL
    postgresql_log.py         reads PostgreSQL's write-ahead log
    postgresql_slot.py        its replication slot and publication
    postgresql_marks.py       marks and owners in PostgreSQL
    postgresql_connection.py  connections, and patience with a server that restarts
    log_positions.py          what a replication slot can still give. Pure
    log_changes.py            which changes are events. Pure
    pgoutput.py               messages of logical replication. Pure
    sqlite_table.py           polls a table in SQLite

Consumers that need a log against duplicates find it in `tidelog.spark.databases.message_log`.
"""
