"""Where the progress of pipelines is learned from, besides their files: `tidelog.client.local_pipelines` reads those.

services.py    /healthz of pipelines whose addresses are known
notes.py       what exactly-once queries have left on the cluster itself
"""
