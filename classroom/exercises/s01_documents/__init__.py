"""Documents under governance

Before anything can be found, it has to be read right. These tasks build the small pieces that turn
a file into a value one can trust: its text in one form, its front matter checked, its fingerprint.
"""
