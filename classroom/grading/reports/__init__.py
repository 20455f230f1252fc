"""What people read of a graded class."""
