"""The pages: each reads the address, has the desk work, and renders what came of it."""

from __future__ import annotations

from datetime import date
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from labkit.answering.engine import MAX_QUESTION
from labkit.assembly import Lab
from labkit.service.diagnostics.forms import SHOWN, QuestionForm, day_of, known_viewer, read_form
from labkit.service.diagnostics.overview import health, overview, runs
from labkit.service.diagnostics.passages import columns, share, shown_rows
from labkit.service.diagnostics.session import LabSession, ask, check_fit
from labkit.service.diagnostics.source import source_page
from labkit.service.errors import Problem
from labkit.service.rendering import PageContext, context_of, page
from labkit.service.translator import Translator
from labkit.settings import Settings
from labkit.types import Health

NOT_FOUND, UNPROCESSABLE = 404, 422


class Pages:
    """The pages of a lab, as handlers of requests."""

    def __init__(self, session: LabSession) -> None:
        self._session = session

    def add_to(self, app: FastAPI) -> None:
        async def api(request: Request) -> Response:
            spec = app.openapi()
            return page("api.html", context_of(request), spec=spec, problems=[])

        for path, handler in (
            ("/api", api),
            ("/", self.overview),
            ("/runs", self.runs),
            ("/question", self.question),
            ("/source", self.source),
        ):
            app.add_api_route(path, handler, include_in_schema=False)

    async def overview(self, request: Request) -> Response:
        context = context_of(request)
        index, embedder = await self._session.read(overview), await self._session.check(health)
        found = [index if isinstance(index, Problem) else index.problem, embedder]
        problems = [problem for problem in found if isinstance(problem, Problem)]
        if isinstance(embedder, Health) and not embedder.ok:
            problems.append(Problem("embedder", embedder.message))
        values: dict[str, Any] = {
            "index": None if isinstance(index, Problem) else index,
            "health": None if isinstance(embedder, Problem) else embedder,
            "problems": list(dict.fromkeys(problems)),
        }
        return page("overview.html", context, **values)

    async def runs(self, request: Request) -> Response:
        context, found = context_of(request), await self._session.read(runs)
        if isinstance(found, Problem):
            return self.problem(context, found, "page_runs")
        return page("runs.html", context, runs=found, problems=[])

    async def question(self, request: Request) -> Response:
        context, settings = context_of(request), await self._session.read(_settings)
        if isinstance(settings, Problem):
            return self.problem(context, settings, "page_question")
        form = read_form(context.query, settings, date.today())
        if form.asked and not form.errors:
            return await self._asked(context, settings, form)
        unfit = await self._session.check(check_fit)
        status = UNPROCESSABLE if form.errors else 200
        return _question_page(context, settings, form, unfit, status)

    async def _asked(
        self, context: PageContext, settings: Settings, form: QuestionForm
    ) -> Response:
        """The page of a question that was asked: what came of it, under its form."""
        asked = await self._session.ask(
            lambda lab: ask(lab, form.question, form.viewer, form.as_of)
        )
        if isinstance(asked, Problem):
            return _question_page(context, settings, form, asked, asked.status)
        rows = shown_rows(asked.retrieval, form.shown, context.translator)
        shown: dict[str, Any] = {"asked": asked, "rows": rows, "columns": columns(rows)}
        return _question_page(context, settings, form, None, **shown, share=share)

    async def source(self, request: Request) -> Response:
        context = context_of(request)
        query = context.query
        as_of = day_of(query["day"]) if query.get("day") else date.today()
        viewer = query.get("viewer", "")
        part, start, end = (_number(query.get(name, "")) for name in ("part", "from", "to"))

        def work(lab: Lab) -> dict[str, Any] | None:
            if as_of is None or not known_viewer(viewer, lab.settings):
                return None
            found = source_page(lab, query.get("id", ""), viewer, as_of, part, start, end)
            label = viewer_label(viewer, lab.settings, context.translator)
            base_url = lab.settings.base_url
            values = {"source": found, "viewer": label, "base_url": base_url}
            return None if found is None else values

        found = await self._session.read(work)
        if isinstance(found, Problem):  # whose words might name a document that is not for them
            return self.problem(context, Problem(found.kind), "source")
        if found is None:
            return self.status(context, NOT_FOUND)
        return page("source.html", context, **found, as_of=as_of, problems=[])

    def problem(self, context: PageContext, problem: Problem, title: str) -> Response:
        """A page that cannot show what it was asked for, under its own title."""
        return page("missing.html", context, problem.status, title=title, problems=[problem])

    def status(self, context: PageContext, status: int) -> Response:
        """A page for a status of HTTP: the same words whatever lies behind it."""
        key = str(status) if context.translator.knows(f"status_{status}") else "other"
        return page("status.html", context, status, key=key, problems=[])


def viewer_label(name: str, settings: Settings, translator: Translator) -> str:
    """A viewer in words: name, organisation, scopes."""
    viewer = settings.viewer_named(name or None)
    scopes = ", ".join(sorted(viewer.scopes)) or translator.gettext("viewer_nothing")
    said = name or translator.gettext("viewer_default")
    return f"{said} – {viewer.organisation or '?'}, {scopes}"


def _question_page(
    context: PageContext,
    settings: Settings,
    form: QuestionForm,
    problem: Problem | None,
    status: int = 200,
    **asked: Any,
) -> Response:
    """The form, what may be chosen in it, and below it what was asked, if anything was."""
    names = ["", *sorted(settings.viewers)]
    values: dict[str, Any] = {
        "form": form,
        "viewers": [(name, viewer_label(name, settings, context.translator)) for name in names],
        "counts": SHOWN,
        "most": MAX_QUESTION,
        "problems": [problem] if problem else [],
        "base_url": settings.base_url,
    }
    return page("question.html", context, status, **values, **{"asked": None, **asked})


def _settings(lab: Lab) -> Settings:
    return lab.settings


def _number(text: str) -> int:
    """A whole number of an address; -1 for what is none, which fits no chunk."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else -1
