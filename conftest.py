"""What holds for every test and for every notebook that is run as one.

nbval's kernels inherit this environment: a stored output must not depend on a person's progress,
nor on controls that only a live notebook has.
"""

from __future__ import annotations

import os

os.environ["LABKIT_WIDGETS"] = "off"
os.environ["LABKIT_PROGRESS"] = "memory"
os.environ["PYTHONWARNINGS"] = "ignore"
