"""A node: listeners, routing, replicas, coordinators and its part in the quorum.

composition.py     the composition root: makes all parts and hands each what it needs
wiring.py          builds the handlers of the APIs, and the routers of the listeners
node.py            the parts of one running broker, as one value
ports.py           everything through which the outside comes in
startup.py         brings a node to life and ends it
opening.py         locks, checks and formats log directories
loading.py         loads their logs in a thread
failures.py        why a node does not run, in words
signals.py         SIGTERM and SIGINT
listening.py       the listeners
image_follower.py  acts on each new image of the cluster
declaration.py     what an API declares about itself
gauges.py          numbers of the parts, read for the metrics
notice.py          something has happened: made before those who say it and those who act
patient_work.py    long work in a thread, a slice at a time
broker.py          `tidelog.Broker`: a whole broker inside of a program
routing/           from a connection to a handler and back
api/               one module for each API
replies/           what several APIs have in their replies
fetching/          what a Fetch needs besides replicas
replicas/          the replicas of this broker
replication/       follows leaders, keeps in-sync sets
coordination/      runs the coordinators
quorum/            the metadata quorum, and the way to the active controller
configuration/     properties of a running node
upkeep/            what happens at intervals
observability/     metrics and logs
"""
