"""Kafka's wire protocol: messages, their bytes, and the frames around them. Pure.

schema.py  how a message is described: fields, and the versions that have them
messages/  one module for each message, generated from Apache Kafka's schemas
codec.py   encoders and decoders, compiled from the descriptions on first use
api.py     keys of the APIs, their messages, and the versions of their headers
frames.py  length, header and body, in both directions
"""
