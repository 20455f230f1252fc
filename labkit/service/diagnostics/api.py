"""`POST /api/answer`: what the page of a question shows, for programs."""

# No `from __future__ import annotations`: FastAPI reads the annotations below as they run.

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from labkit.answering.engine import MAX_QUESTION
from labkit.answering.results import hit_dict
from labkit.assembly import Lab
from labkit.service.diagnostics import asking
from labkit.service.diagnostics.forms import day_of, known_viewer, question_error
from labkit.service.diagnostics.session import LabSession
from labkit.service.errors import Problem, responses
from labkit.types import Hit

MOST_PASSAGES = 100
READABLE = r"^[^\x00]*[^\s\x00-\x1f][^\x00]*$"
PATH = "/api/answer"


def _askable(question: str) -> str:
    if wrong := question_error(question):
        raise ValueError("is blank" if wrong == "error_empty" else "is too long")
    return question


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 10.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _day(value: Any) -> Any:
    """A day is written as text: the library would take a number for seconds since 1970."""
    if value is not None and (not isinstance(value, str) or day_of(value) is None):
        raise ValueError("must be a day, such as 2026-10-23")
    return value


class AnswerRequest(BaseModel):
    """A question for one viewer on one day. Nothing else is taken from the caller."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[
        str,
        Field(min_length=1, max_length=MAX_QUESTION, pattern=READABLE),
        AfterValidator(_askable),
    ]
    viewer: str = Field(
        "", max_length=200, description="A name of [viewers.NAME]; empty: the default viewer."
    )
    as_of: Annotated[
        date | None,
        Field(description="The day to answer for; default today."),
        BeforeValidator(_day),
    ] = None
    profile: str = Field(
        "", max_length=200, description="Only the configured profile, which is the default."
    )
    passages: Annotated[
        int,
        Field(ge=0, le=MOST_PASSAGES, strict=True, description="How many passages to return."),
        BeforeValidator(_whole),
    ] = 10


class EvidenceReply(BaseModel):
    """A quotation that passed the gate, and where it stands in its document."""

    chunk_id: str
    source_id: str
    quote: str
    start: int
    end: int
    page: int | None = None


class PassageReply(BaseModel):
    """A passage with its scores apart; `dropped` says why it was not kept."""

    chunk_id: str
    title: str
    cosine: float | None
    dense_rank: int | None
    lexical_score: float | None
    lexical_rank: int | None
    fused: float | None
    dropped: str


class RankedReply(PassageReply):
    """A passage that was considered, and where it stands."""

    source_id: str
    section: str
    start: int
    end: int
    page: int | None
    kept: bool


class AnswerReply(BaseModel):
    """An answer or a refusal, how it came about, and the passages considered, best first."""

    id: str
    status: Literal["answered", "refused"]
    question: str
    as_of: date
    reason: str | None
    message: str | None
    answer: str | None
    evidence: list[EvidenceReply]
    closest: list[PassageReply]
    trace: dict[str, Any]
    passages: list[RankedReply]


def add_api(app: FastAPI, session: LabSession) -> None:
    """Put the operation on an application."""

    @app.post(
        PATH,
        response_model=AnswerReply,
        responses=responses(400, 401, 403, 408, 409, 413, 422, 500, 503),
    )
    async def answer(body: AnswerRequest) -> Any:
        """Answer a question with quotations, or refuse with a reason. Nothing is kept."""
        reply = await session.ask(lambda lab: _reply(lab, body))
        if isinstance(reply, Problem):
            return reply.reply()
        return JSONResponse(jsonable_encoder(reply))

    _ = answer


def _reply(lab: Lab, body: AnswerRequest) -> dict[str, Any] | Problem:
    """The reply, or which name the settings do not know."""
    profile = lab.settings.embedding.profile
    if not known_viewer(body.viewer, lab.settings):
        return Problem("choice", "viewer is none of the settings; leave it out for the default one")
    if body.profile not in ("", profile):
        return Problem(
            "choice", f"profile must be {profile!r}, which the settings name, or be left out"
        )
    asked = asking.ask(lab, body.question, body.viewer, body.as_of or date.today())
    kept = {hit.chunk.id for hit in asked.retrieval.hits}
    ranked = asked.retrieval.ranked[: body.passages]
    passages = [_passage(hit, hit.chunk.id in kept) for hit in ranked]
    return {**asked.outcome.to_dict(), "passages": passages}


def _passage(hit: Hit, kept: bool) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        **hit_dict(hit),
        "source_id": chunk.source_id,
        "section": chunk.section,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "kept": kept,
    }
