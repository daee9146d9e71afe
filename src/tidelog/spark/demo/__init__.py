"""`make run`: a Spark job is killed in the middle of a commit, and its output still equals its input exactly.

__main__.py    the demonstration
driver.py      the job as a process that can be killed
pipeline.py    the job's settings
orders.py      the input, and what must become of it. Pure
topics.py      creates, fills and reads topics
comparison.py  is the output what it had to be? Pure
report.py      the table at the end
"""
