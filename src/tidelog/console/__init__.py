"""The console: a page that shows what a log does, for tidelog and for any Apache Kafka cluster.

It is a client like any other: FastAPI on uvicorn over `tidelog.Admin`, `LogBrowser` and `MetadataLog`, in a process of
its own. It needs `pip install "tidelog[console]"`. A broker that is started without a console imports nothing of it.

settings.py    what the command line has said
serving.py     runs the console until a signal ends it
browser_connections.py  how many connections there may be, and how long they may keep it waiting
app.py         makes the application: all pages, what guards them, the files of the browser
access.py      who may use it: host names, the token, changes, the headers that browsers obey
connection.py  the connection to the cluster, which may be away and come back
feeds.py       live data: one reading for all who watch the same thing, no faster than the cluster can bear
listings.py    groups and transactional ids of all coordinators, as far as they answer
descriptions.py  groups and transactional ids by their names, without a trace in the cluster
hidden_ids.py  whether there may be transactional ids that this client does not see
parts.py       what the modules of pages have in common
replies.py     values as JSON, failures as sentences
pages/         one module for each page: what it reads from the cluster, and what it changes
records/       reading records for a page, within bounds: merged, filtered, live, as files
lags/          reading how far groups are behind
pipelines/     where the progress of pipelines is learned from
findings/      pure: what readings mean, such as rates, lag, who holds back whom, and what needs attention
static/        what runs in the browser: js/ (one module for each page), css/, vendor/
"""
