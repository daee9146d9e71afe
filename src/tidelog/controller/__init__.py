"""Decisions of the active controller: each module takes an image and a request, and returns records and a reply.

decision.py          what every decision is
bootstrap.py         the first records of a new cluster
brokers.py           registration, fencing, controlled shutdown, removal
heartbeats.py        what a broker's heartbeat leads to
departures.py        which brokers are gone for certain
topics.py            CreateTopics, DeleteTopics
automatic.py         topics that are created on demand
partitions.py        CreatePartitions
placement.py         brokers for the replicas of new partitions
assignment.py        chosen replicas as the records of new partitions
in_sync.py           AlterPartition: the in-sync set (KIP-497)
elections.py         leaders, and every change of a partition as a record
eligible_leaders.py  who may lead without being in sync (KIP-966)
leader_election.py   ElectLeaders, and elections by the controller itself
reassignment.py      replicas that move to other brokers (KIP-455)
directories.py       log directories of replicas (KIP-858)
configs.py           AlterConfigs, IncrementalAlterConfigs
features.py          UpdateFeatures (KIP-584)
acls.py              CreateAcls, DeleteAcls (KIP-140)
credentials.py       AlterUserScramCredentials (KIP-554)
client_quotas.py     AlterClientQuotas (KIP-546)
producer_ids.py      producer ids in blocks (KIP-730)
"""
