"""The replicas of a broker: their logs, who waits for them, and what happens when a disk fails.

registry.py          all of them: where requests find them, and what happens to them
reconciling.py       reconciles them with the cluster image
placement.py         in which log directory each is created, and which the controller has to know of
strays.py            logs on disk that are not replicas of this broker
replica.py           one replica: the log, and what is known about the others
waits.py             producers wait for the high watermark, readers for bytes
flusher.py           flushes logs in a thread
moves.py             replicas change their log directory while they are in use (KIP-113)
damage.py            damaged logs: which are fetched again, which stay
storage_failures.py  a disk fails or is full: it is counted, logged, and the controller learns of it
"""
