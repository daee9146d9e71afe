"""Coordinators: pure state machines over the records of an internal topic. They never await, log or read a clock."""
