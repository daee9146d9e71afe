"""From a connection to a handler and back, the same for the listeners of brokers and of controllers.

router.py         frames to requests, requests to handlers, replies to frames; limits, failures, metrics
context.py        what a handler may need to know about a request besides its message
connections.py    which connections are let in, and when an idle one is closed
throttling.py     quotas of clients: what is counted, and how long a client waits
quota_follower.py the quotas of the cluster, as they change
measuring.py      how long the event loop is busy with a request
forwarding.py     requests that the active controller answers
produce_order.py  in which order the produces of a connection are appended
"""
