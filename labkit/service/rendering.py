"""Pages from templates, and what every page has: its language and its links."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from labkit.answering.citing import link_of
from labkit.service.errors import Problem
from labkit.service.translator import TEXTS, Translator, choose_language

NAVIGATION = (
    ("/", "page_overview"),
    ("/runs", "page_runs"),
    ("/question", "page_question"),
    ("/api", "page_api"),
)


@dataclass(frozen=True)
class PageContext:
    """Where a page stands: `chosen` says that its language stands in the address, and so in
    links."""

    translator: Translator
    chosen: bool = False
    path: str = "/"
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def lang(self) -> str:
        return self.translator.lang

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


def context_of(request: Request) -> PageContext:
    """The context that a request asks for."""
    query = dict(request.query_params)
    asked = query.get("lang", "")
    lang = choose_language(asked, request.headers.get("accept-language", ""))
    return PageContext(Translator(lang), asked == lang, request.scope["path"], query)


def render(template: str, **values: Any) -> str:
    """A template as text. Every value is escaped; a name that nobody set is an error."""
    return _environment().get_template(template).render(**values)


def page(template: str, context: PageContext, status: int = 200, **values: Any) -> HTMLResponse:
    """A template as a reply, in the page's language: `_` gives it its words."""
    translator = context.translator
    common = {"context": context, "translator": translator, "_": translator.gettext}
    text = render(template, **common, status=status, **values)
    return HTMLResponse(text, status, {"content-language": context.lang})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("labkit.service"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["problem"] = lambda value: isinstance(value, Problem)
    environment.globals["link_of"] = link_of
    environment.filters["json"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    return environment
