"""Who may do what: the questions that handlers ask before they act.

| file | what is in it |
|---|---|
| `access.py` | `Access`: one question about one resource, many names, and what a client may do with something |
| `audit.py` | the log of all decisions |
| `guards.py` | the check of APIs that need one permission on the cluster, and nothing else |
| `configured.py` | which permission the properties of a thing need |
| `controller_requests.py` | what is refused of requests that the controller carries out, before it does |

What is asked for which API, and in which order, is in decision 41. How a question is decided is in
`tidelog.security.authorizer`.
"""
