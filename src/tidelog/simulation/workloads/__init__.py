"""Clients that work while everything breaks, and record what they did and saw.

workload.py              producers and readers
transaction_workload.py  transactional producers, and copiers
transactional.py         one transactional producer, in either protocol
administration.py        administrators that speak old versions
hostile.py               extreme numbers, and a bystander that must not notice
extremes.py              messages with an extreme number in one field
work.py                  what all clients have in common
"""
