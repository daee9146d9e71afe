"""From a connection to a handler and back, the same for the listeners of brokers and of controllers.

router.py         frames to requests, requests to handlers, replies to frames; limits, failures, metrics
context.py        what a handler may need to know about a request besides its message
connections.py    how many connections there may be, and when an idle one is closed
forwarding.py     requests that the active controller answers
produce_order.py  in which order the produces of a connection are appended
"""
