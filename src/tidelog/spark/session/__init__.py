"""What surrounds a job in its driver: the session, its errors as people read them, its progress.

session.py         `spark_session`: this Python in the workers, nothing listening but on loopback
java.py            whether there is a Java that Spark can run on
query_progress.py  metrics of source and sink in a query's progress
explanations.py    our own message, out of what Spark shows around it
"""
