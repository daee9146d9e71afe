"""Quotas of clients and of connections, as Apache Kafka 4.3 computes them. Pure: time is an argument.

rates.py        the rate over sampled windows, and the bucket of tokens (KIP-599)
throttling.py   how long a client is throttled: byte rates, request time, mutations of the controller
entities.py     who may have a quota; which one applies to a user and a client id; checks; filters (KIP-546)
book.py         all quotas of the cluster, as one immutable value
usage.py        what the clients of one broker have used, in a bounded number of accounts
connections.py  how many connections there may be, and how fast they may come in (KIP-612)
"""
