"""A node: listeners, routing, replicas, coordinators and its part in the quorum.

composition.py     the composition root: creates all parts and gives each what it needs
wiring.py          builds the handlers of the APIs, and the routers of the listeners
node.py            the parts of one running broker, as one value
ports.py           everything through which a node reaches the outside
startup.py         starts and stops a node
opening.py         locks, checks and formats log directories
loading.py         loads their logs in a thread
failures.py        why a node does not run
signals.py         SIGTERM and SIGINT
listening.py       the listeners
image_follower.py  acts on each new image of the cluster
declaration.py     what an API declares about itself
gauges.py          numbers of the parts, read for the metrics
notice.py          an event, created before those who raise it and those who act on it
patient_work.py    long work in a thread, a slice at a time
broker.py          `tidelog.Broker`: a whole broker inside a program
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
secure_start/      certificates, users and client files for brokers that secure themselves
"""
