"""`POST /api/answer`: what the page of a question shows, for programs."""

# No `from __future__ import annotations`: FastAPI reads the annotations below as they run.

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from labkit.answering.citing import outcome_dict, passage_dict
from labkit.answering.engine import MAX_QUESTION
from labkit.assembly import Lab
from labkit.service.diagnostics.forms import day_of, known_viewer, question_error
from labkit.service.diagnostics.session import LabSession, ask
from labkit.service.errors import Problem, responses

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
    passages: Annotated[
        int,
        Field(ge=0, le=MOST_PASSAGES, strict=True, description="How many passages to return."),
        BeforeValidator(_whole),
    ] = 10


class Place(BaseModel):
    """Where it stands: `start` and `end` count the characters of the normalised document, `link` is
    empty unless the settings name a `base_url`."""

    chunk_id: str
    title: str
    path: str
    section: str
    anchor: str
    start: int
    end: int
    page: int | None
    link: str


class EvidenceReply(Place):
    """A quotation that passed the gate."""

    source_id: str
    quote: str


class PassageReply(Place):
    """A passage with its scores apart; `dropped` says why it was not kept."""

    text: str
    cosine: float | None
    dense_rank: int | None
    lexical_score: float | None
    lexical_rank: int | None
    fused: float | None
    dropped: str


class RankedReply(PassageReply):
    """A passage that was considered."""

    source_id: str
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
        return reply.reply() if isinstance(reply, Problem) else JSONResponse(reply)

    _ = answer


def _reply(lab: Lab, body: AnswerRequest) -> dict[str, Any] | Problem:
    """The reply, or that the settings do not know the viewer."""
    if not known_viewer(body.viewer, lab.settings):
        return Problem("choice", "viewer is none of the settings; leave it out for the default one")
    asked = ask(lab, body.question, body.viewer, body.as_of or date.today())
    base_url, found = lab.settings.base_url, asked.retrieval
    kept = {hit.chunk.id for hit in found.hits}
    passages = [
        {
            **passage_dict(hit, base_url),
            "source_id": hit.chunk.source_id,
            "kept": hit.chunk.id in kept,
        }
        for hit in found.ranked[: body.passages]
    ]
    return {**outcome_dict(asked.outcome, base_url), "passages": passages}
