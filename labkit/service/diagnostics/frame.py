"""What every page has: its language, its links, and the templates that it is rendered with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from labkit.service.diagnostics.language import Speech, choose_language
from labkit.service.diagnostics.problems import Problem
from labkit.service.diagnostics.texts import TEXTS

NAVIGATION = (
    ("/", "page_overview"),
    ("/runs", "page_runs"),
    ("/question", "page_question"),
    ("/api", "page_api"),
)


@dataclass(frozen=True)
class Frame:
    """One page's place: `chosen` says that its language stands in the address, and so in links."""

    speech: Speech
    chosen: bool = False
    path: str = "/"
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def lang(self) -> str:
        return self.speech.lang

    @property
    def navigation(self) -> list[tuple[str, str, bool]]:
        """(link, key of its words, is this the page?) of each page."""
        return [(self.link(path), key, path == self.path) for path, key in NAVIGATION]

    @property
    def languages(self) -> list[tuple[str, str, str]]:
        """(language, its own name, link to this page in it) of each other language."""
        others = [lang for lang in TEXTS if lang != self.lang]
        return [(lang, TEXTS[lang]["name"], self._in(lang)) for lang in others]

    def link(self, path: str, fragment: str = "", **values: object) -> str:
        """A link to another page, in the language of this one."""
        shown = {name: str(value) for name, value in values.items() if value != ""}
        if self.chosen:
            shown["lang"] = self.lang
        query = f"?{urlencode(shown)}" if shown else ""
        return f"{path}{query}{fragment and '#'}{fragment}"

    def _in(self, lang: str) -> str:
        """This page's link: its own path with one slash before it, since two would name a host."""
        path = "/" + quote(self.path.lstrip("/\\"))
        return f"{path}?{urlencode({**self.query, 'lang': lang})}"


def frame_of(request: Request) -> Frame:
    """The frame that a request asks for."""
    query = dict(request.query_params)
    asked = query.get("lang", "")
    lang = choose_language(asked, request.headers.get("accept-language", ""))
    return Frame(Speech(lang), asked == lang, request.scope["path"], query)


class Renderer:
    """Pages from templates. Every value is escaped; a name that nobody set is an error."""

    def __init__(self) -> None:
        self._templates = Environment(
            loader=PackageLoader("labkit.service.diagnostics"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.tests["problem"] = lambda value: isinstance(value, Problem)

    def text(self, template: str, frame: Frame, **values: Any) -> str:
        """A template as text."""
        common = {"frame": frame, "speech": frame.speech, "say": frame.speech.say}
        return self._templates.get_template(template).render(**common, **values)

    def page(self, template: str, frame: Frame, status: int = 200, **values: Any) -> HTMLResponse:
        """A template as a reply."""
        headers = {"content-language": frame.lang}
        return HTMLResponse(self.text(template, frame, **values), status, headers)
