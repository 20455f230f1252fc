"""The SQLite store

An index must survive what happens to real programs: a model that fails, a disk that fills, a person
who presses Ctrl-C. You write the few functions that make it so.
"""
