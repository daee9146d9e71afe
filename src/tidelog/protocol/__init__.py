"""Kafka's wire protocol: messages, their bytes, and the frames around them. Pure.

schema.py          how a message is described: fields, and the versions that have them
messages/          one module for each message, generated from Apache Kafka's schemas
codec.py           encodes and decodes; in plain Python by functions that it writes from the descriptions on first use
native/            the same by tables, in machine code
implementation.py  which of the two runs
api.py             keys of the APIs, their messages, and the versions of their headers
frames.py          length, header and body, in both directions
"""
