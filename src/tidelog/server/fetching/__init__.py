"""What a Fetch needs besides the replicas that it reads.

sessions.py  what a reader has asked for before and need not name again (KIP-227)
nearby.py    which replica is closest to a consumer (KIP-392)
"""
