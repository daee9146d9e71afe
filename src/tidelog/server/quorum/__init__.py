"""A node's part in the metadata quorum, and its life in the cluster.

control_plane.py      all of it put together: log, replica, image, controller
settings.py           the quorum's settings, from the configuration
runtime.py            drives a `QuorumReplica`: one event at a time
talks.py              its requests to other nodes, and which of them answer
commit_waits.py       waits until the leader's records are committed
patience.py           work on the log that waits for a descriptor instead of failing
election_memory.py    what a voter must remember: its last vote
quorum_log.py         the metadata log as the quorum sees it
log_reading.py        what a broker shows of it to clients
snapshots.py          takes snapshots when they are due, and drops old ones
snapshot_files.py     their files
first_records.py      what a new cluster begins with
metadata.py           the image: the latest snapshot and the committed log after it
publishing.py         hands each image to those who act on it, in order
active_controller.py  decides for the whole cluster while this node leads
answers.py            its replies to administrative requests
mutations.py          how much clients may change there (KIP-599)
absent_brokers.py     has brokers fenced whose processes are gone
lifecycle.py          a broker registers, catches up, serves, and hands over before it stops
channel.py            the way from a broker to the active controller
envelope.py           a client's request on that way (KIP-590)
peers.py              connections to other nodes
leader_watch.py       warns operators that the quorum has no leader
"""
