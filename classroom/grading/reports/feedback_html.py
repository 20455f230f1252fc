"""Feedback as a page of HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from classroom.checking import Outcome
from classroom.grading.reports.feedback_content import (
    IN_WORDS,
    FailingCase,
    Feedback,
    Held,
    Note,
    Section,
)
from classroom.grading.reports.page import page

_TONES = {Outcome.RIGHT: "good", Outcome.NOT_ATTEMPTED: "muted"}


def as_html(said: Feedback) -> str:
    """The whole page; all texts in it are escaped."""
    parts = [
        f"<h1>{escape(f'{said.title} {said.assignment}'.strip())}</h1>",
        f"<p>For <bdi>{escape(said.student)}</bdi>{_points(said)}</p>",
        _listed("What already works", [prose(text) for text in said.works]),
    ]
    if said.next_step:
        parts.append(f"<h2>Your next step</h2>\n<p>{prose(said.next_step)}</p>")
    parts += map(_section, said.sections)
    parts.append(_listed("About your file", [note(each) for each in said.notes]))
    title = f"{said.assignment}: feedback" if said.assignment else said.title
    return page(title, "\n".join(filter(None, parts)))


def _points(said: Feedback) -> str:
    return f": <strong>{escape(said.points)}</strong>" if said.points else ""


def prose(text: str) -> str:
    """A sentence as HTML: escaped, and what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def note(found: Note) -> str:
    """A finding as HTML."""
    return f"{prose(found.place)}: {prose(found.message)} {escape(found.then)}".strip()


def _listed(heading: str, items: Sequence[str]) -> str:
    rows = "\n".join(f"<li>{item}</li>" for item in items)
    return f"<h2>{heading}</h2>\n<ul>\n{rows}\n</ul>" if items else ""


def _section(said: Section) -> str:
    tone = _TONES.get(said.outcome, "attention")
    parts = [
        f"<h2>{prose(said.title)}</h2>",
        f"<p><code>{escape(said.exercise)}</code>: <strong>{escape(said.points)}</strong>, "
        f'<span class="{tone}">{escape(IN_WORDS[said.outcome])}</span></p>',
        f"<p>{prose(said.works)}</p>",
        _look_at(said),
        _counts(said.held),
        f"<p>{prose(said.step)}</p>" if said.step else "",
        _notes(said.notes),
    ]
    inner = "\n".join(filter(None, parts))
    return f'<section class="exercise">\n{inner}\n</section>'


def _look_at(said: Section) -> str:
    """What fails, the sentence of a recognised mistake before all."""
    parts = [f"<p><strong>{prose(said.sentence)}</strong></p>"] if said.sentence else []
    parts += map(_case, said.failing)
    if said.more_failing:
        parts.append(f"<p>And {said.more_failing} more of the examples.</p>")
    if said.line:
        parts.append(f"<p>Your code stopped at <code>{escape(said.line)}</code></p>")
    if said.where:
        parts.append(f"<p>{prose(said.where)}</p>")
    inner = "\n".join(parts)
    return f'<div class="panel attention">\n{inner}\n</div>' if parts else ""


def _case(case: FailingCase) -> str:
    rows = (("Call", case.call), ("Expected", case.expected), ("Got", case.got))
    facts = "\n".join(f"<dt>{name}</dt><dd><code>{escape(text)}</code></dd>" for name, text in rows)
    return f'<dl class="facts">\n{facts}\n</dl>'


def _counts(held: Sequence[Held]) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{group.group}</th><td class="number">{group.held} of {group.total}'
        f'</td><td class="number">{escape(group.points)}</td><td>{escape(group.remark)}</td></tr>'
        for group in held
    )
    head = (
        '<tr><th scope="col">Cases</th><th scope="col" class="number">Hold</th>'
        '<th scope="col" class="number">Points</th>'
        '<th scope="col">Remark</th></tr>'
    )
    if not held:
        return ""
    return (
        "<table>\n<caption>What was tried: a group earns its points once all its cases hold"
        "</caption>\n"
        f"<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _notes(notes: Sequence[Note]) -> str:
    rows = "\n".join(f"<li>{note(found)}</li>" for found in notes)
    return f"<h3>Found in your cells</h3>\n<ul>\n{rows}\n</ul>" if notes else ""
