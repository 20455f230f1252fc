"""Grading a folder of submissions that nobody trusts.

`submissions` finds them and reads them without running anything, `running` runs a learner's code
apart, `answer_key` knows what is right, `judge` compares, `record` signs, `grade` does it for a
class; `reports` writes what people read.
"""
