"""The classroom: exercises as objects, and what learners and instructors do with them."""
