"""Chunking

A passage has to be small enough to be found and large enough to be understood. You cut texts into
windows, and you keep track of where each one stands.
"""
