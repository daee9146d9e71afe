"""The way to the cluster, for producers, consumers and admins alike.

cluster.py   bootstrap, connections, metadata, coordinators, retries
routing.py   one question split over the brokers that have the answers
coordinator_topic.py  which groups and transactional ids nobody coordinates now, from the metadata
metadata.py  brokers, topics and leaders, as values
backoff.py   how long to wait before the next try
"""
