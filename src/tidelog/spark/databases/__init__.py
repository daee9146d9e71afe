"""Topics into database tables, exactly once: rows and the batch number in one transaction of the database.

`progress` decides, `sink` is the data source that Spark writes to, `postgresql` and `sqlite` talk to the databases.
`message_log` is for those who consume events on their own and want each of them once.
"""
