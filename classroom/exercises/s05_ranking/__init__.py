"""Hybrid ranking

Words and meaning see different things. You build both views of a question and fuse them without
comparing what cannot be compared.
"""
