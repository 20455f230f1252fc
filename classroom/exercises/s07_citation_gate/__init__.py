"""The citation gate

The last stage trusts nobody, least of all a fluent model. You write the check that lets a quotation
through only if it stands in the source, letter for letter.
"""
