"""Runs the pure coordinators: loads them from their logs, appends what they decide, answers, keeps their time."""
