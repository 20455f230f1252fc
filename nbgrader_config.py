"""nbgrader's folders in this repository, so that its own commands work from the root."""

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.IncludeHeaderFooter.header = ""
