"""Pages from templates. Every text is escaped where it is put in; only templates are HTML."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from classroom.grading.names import spelled_out
from classroom.show import short_run, visible


def render(template: str, **values: Any) -> str:
    """The page that a template of `templates/` makes of these values."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("classroom.grading.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=prose, clean=clean, points=points)
    return made


def prose(text: str) -> Markup:
    """A sentence as HTML: escaped, and what stands in backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def clean(text: str, limit: int) -> str:
    """A text from outside: cut, and with the characters visible that are not so by themselves."""
    return short_run(visible(spelled_out(text[: limit + 1])), limit)


def points(value: float) -> str:
    """A score in at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
