"""Running a learner's code where it can do no harm."""
