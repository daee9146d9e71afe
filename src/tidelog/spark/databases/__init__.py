"""Topics into database tables, exactly once: rows and progress in one transaction of the database.

sink.py               the data source that Spark writes to
options.py            what users write, checked
progress.py           may this micro-batch be written? Pure
evolution.py          which columns a table lacks. Pure
store.py              what a database must be able to do
tables.py             the tables that remember, and the user's, in SQL that both databases understand
postgresql.py         PostgreSQL: staging tables, COPY
postgresql_tables.py  PostgreSQL: its catalog and its types
sqlite.py             SQLite
message_log.py        each event once, for programs that consume on their own
"""
