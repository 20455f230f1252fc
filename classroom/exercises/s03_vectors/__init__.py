"""Vectors and cosine

Nearness of meaning becomes an angle. You compute it, and you rank by it so that the same question
always gives the same list.
"""
