"""The sandbox runtime: what goes into the sandbox beside a learner's code.

These files are copied there as they are, so they need Python's standard library alone and import
one another relatively.
"""
