"""A knowledge base

A hundred documents that people edit every day are another matter than fifteen. You cut them where
their authors did, you find out what an index has to do again, and you ask a service that may fail.
"""
