"""For other people's tests, and for models of protocols.

pytest_plugin.py  the fixture `tidelog_broker`
broker_thread.py  a broker on a thread of its own
exhaustive.py     explores a model: every order of everything that can happen
"""
