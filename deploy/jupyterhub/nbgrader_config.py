"""nbgrader on the hub: what every person's nbgrader reads, instructors and students alike.

The folders are those of the repository's own nbgrader_config.py. A course folder stands in the
instructor's home, where students cannot look; the exchange is the one place that all share.
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = os.environ.get("LABKIT_HUB_COURSE", "labkit")
c.Exchange.root = os.environ.get("LABKIT_HUB_EXCHANGE", "/srv/labkit/exchange")

course = Path.home() / "course"
if (course / "solutions").is_dir():  # an instructor; students work where they stand
    c.CourseDirectory.root = str(course)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.IncludeHeaderFooter.header = ""

# A check tries hundreds of inputs; a loop that never ends costs this many seconds, once a cell.
c.ExecutePreprocessor.timeout = 60
