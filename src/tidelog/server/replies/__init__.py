"""What several APIs have in their replies.

error_replies.py   one error for a whole request, in the shape of its API
leader_hints.py    who leads a partition instead of this broker
"""
