"""What operators see of a node.

metrics.py           counters in Prometheus' format
quota_accounts.py    what clients use of their quotas, in the same format
metrics_endpoint.py  the HTTP listener that serves them
logs.py              how log lines look: for people, or as JSON
log_throttle.py      lines that clients can cause at will: the first are shown, the rest are counted
"""
