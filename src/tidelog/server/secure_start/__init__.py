"""A broker that only lets in who belongs, without anybody having to set that up: certificates, users, and what clients
need, all made by itself. `tidelog up --secure`, `tidelog.Broker(security="SASL_SSL")` and the pytest fixture use it.

folder.py       the files, made once and kept
first_users.py  users that a new cluster begins with
settings.py     properties of nodes and clients (pure)
"""
