"""The pages: each reads the address, has the desk work, and renders what came of it."""

from __future__ import annotations

from datetime import date
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from labkit.answering.engine import MAX_QUESTION
from labkit.assembly import Lab
from labkit.service.diagnostics import asking
from labkit.service.diagnostics.desk import Desk
from labkit.service.diagnostics.forms import SHOWN, QuestionForm, day_of, known_viewer, read_form
from labkit.service.diagnostics.frame import Frame, Renderer, frame_of
from labkit.service.diagnostics.language import Speech
from labkit.service.diagnostics.overview import health, overview, runs
from labkit.service.diagnostics.passages import shown_rows
from labkit.service.diagnostics.problems import Problem
from labkit.service.diagnostics.source import SourcePage, source_page
from labkit.settings import Settings
from labkit.types import Health

NOT_FOUND, UNPROCESSABLE = 404, 422


class Pages:
    """The pages of a lab, as handlers of requests."""

    def __init__(self, desk: Desk, renderer: Renderer) -> None:
        self._desk, self._renderer = desk, renderer

    def add_to(self, app: FastAPI) -> None:
        for path, handler in (
            ("/", self.overview),
            ("/runs", self.runs),
            ("/question", self.question),
            ("/source", self.source),
        ):
            app.add_api_route(path, handler, include_in_schema=False)

    async def overview(self, request: Request) -> Response:
        frame = frame_of(request)
        index, embedder = await self._desk.read(overview), await self._desk.check(health)
        found = [index if isinstance(index, Problem) else index.problem, embedder]
        problems = [problem for problem in found if isinstance(problem, Problem)]
        if isinstance(embedder, Health) and not embedder.ok:
            problems.append(Problem("embedder", embedder.message))
        values: dict[str, Any] = {
            "index": None if isinstance(index, Problem) else index,
            "health": None if isinstance(embedder, Problem) else embedder,
            "problems": list(dict.fromkeys(problems)),
        }
        return self._renderer.page("overview.html", frame, **values)

    async def runs(self, request: Request) -> Response:
        frame, found = frame_of(request), await self._desk.read(runs)
        if isinstance(found, Problem):
            return self.problem(frame, found, "page_runs")
        return self._renderer.page("runs.html", frame, runs=found, problems=[])

    async def question(self, request: Request) -> Response:
        frame, settings = frame_of(request), await self._desk.read(_settings)
        if isinstance(settings, Problem):
            return self.problem(frame, settings, "page_question")
        form = read_form(frame.query, settings, date.today())
        if form.asked and not form.errors:
            return await self._asked(frame, settings, form)
        fits = await self._desk.check(asking.fits_index)
        problems = [fits] if isinstance(fits, Problem) else []
        status = UNPROCESSABLE if form.errors else 200
        values = _form_values(frame.speech, settings, form, fits is not False)
        return self._renderer.page(
            "question.html", frame, status, **values, problems=problems, asked=None
        )

    async def _asked(self, frame: Frame, settings: Settings, form: QuestionForm) -> Response:
        """The page of a question that was asked: what came of it, under its form."""
        asked = await self._desk.ask(
            lambda lab: asking.ask(lab, form.question, form.viewer, form.as_of)
        )
        values = _form_values(frame.speech, settings, form, True)
        if isinstance(asked, Problem):
            return self._renderer.page(
                "question.html", frame, asked.status, **values, problems=[asked], asked=None
            )
        rows = shown_rows(asked.retrieval, form.shown, frame.speech)
        return self._renderer.page(
            "question.html", frame, **values, problems=[], asked=asked, rows=rows
        )

    async def source(self, request: Request) -> Response:
        frame = frame_of(request)
        query = frame.query
        as_of = day_of(query["day"]) if query.get("day") else date.today()
        viewer = query.get("viewer", "")
        part, start, end = (_number(query.get(name, "")) for name in ("part", "from", "to"))

        def work(lab: Lab) -> tuple[SourcePage, str] | None:
            if as_of is None or not known_viewer(viewer, lab.settings):
                return None
            found = source_page(lab, query.get("id", ""), viewer, as_of, part, start, end)
            label = viewer_label(viewer, lab.settings, frame.speech)
            return None if found is None else (found, label)

        found = await self._desk.read(work)
        if isinstance(found, Problem):  # whose words might name a document that is not for them
            return self.problem(frame, Problem(found.kind), "source")
        if found is None or as_of is None:
            return self.status(frame, NOT_FOUND)
        page, label = found
        return self._renderer.page(
            "source.html", frame, page=page, viewer=label, as_of=as_of, part=part, problems=[]
        )

    def problem(self, frame: Frame, problem: Problem, title: str) -> Response:
        """A page that cannot show what it was asked for, under its own title."""
        return self._renderer.page(
            "missing.html", frame, problem.status, title=title, problems=[problem]
        )

    def status(self, frame: Frame, status: int) -> Response:
        """A page for a status of HTTP: the same words whatever lies behind it."""
        key = str(status) if frame.speech.knows(f"status_{status}") else "other"
        return self._renderer.page("status.html", frame, status, key=key, code=status, problems=[])


def viewer_label(name: str, settings: Settings, speech: Speech) -> str:
    """A viewer in words: name, organisation, scopes."""
    viewer = settings.viewer_named(name or None)
    scopes = ", ".join(sorted(viewer.scopes)) or speech.say("viewer_nothing")
    return f"{name or speech.say('viewer_default')} – {viewer.organisation or '?'}, {scopes}"


def _form_values(
    speech: Speech, settings: Settings, form: QuestionForm, fits: bool
) -> dict[str, Any]:
    """What the form shows: its fields, and what may be chosen in them."""
    profile = settings.embedding.profile
    label = profile if fits else speech.say("profile_misfit", profile=profile)
    names = ["", *sorted(settings.viewers)]
    return {
        "form": form,
        "viewers": [(name, viewer_label(name, settings, speech)) for name in names],
        "viewer": viewer_label(form.viewer if not form.errors else "", settings, speech),
        "profiles": [(profile, label)],
        "counts": SHOWN,
        "most": MAX_QUESTION,
    }


def _settings(lab: Lab) -> Settings:
    return lab.settings


def _number(text: str) -> int:
    """A whole number of an address; -1 for what is none, which fits no chunk."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else -1
