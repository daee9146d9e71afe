"""What several APIs have in their replies.

error_replies.py          one error for a whole request, in the shape of its API
leader_hints.py           who leads a partition instead of this broker
advertised_features.py    features in ApiVersions
authorized_operations.py  what a client may do, for those who ask
"""
