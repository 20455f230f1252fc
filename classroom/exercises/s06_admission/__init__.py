"""Admission

Who may see what, as of which day: one predicate, and every path through the engine depends on it.
"""
