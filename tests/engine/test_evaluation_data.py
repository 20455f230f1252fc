"""labkit.evaluation: data sets read, questions scored, figures reported, and `labkit eval`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import chunk
from labkit.cli import main
from labkit.evaluation.datasets import DAY, Beir, Part, Passage, load_annotated, load_beir
from labkit.evaluation.measuring import Measured, score_parts, score_passages
from labkit.evaluation.report import as_text, make_rows
from labkit.evaluation.running import check_documents
from labkit.evaluation.scratch import READER, WholePassage, passage_document
from labkit.store import SqliteStore
from labkit.types import Hit, LabError
from scripted_server import Reply, Request, ScriptedServer, embeddings

CORPUS = [
    {"_id": "p1", "title": "Export", "text": "You can export CSV from the Library page."},
    {"_id": "p2", "text": "Invoices are due 30 days after their date."},
    {"_id": "p3", "title": "The export of invoices", "text": " "},
    {"_id": "p4", "title": "", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "How do I export CSV?"},
    {"_id": "q2", "text": "When is an invoice due?"},
    {"_id": "q3", "text": "Never judged"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tp1\t2\nq1\tp3\t1\nq2\tp2\t1\nq2\tp4\t0\n"


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A BEIR folder of four passages and three queries."""
    folder = tmp_path / "tiny"
    write(folder, "corpus.jsonl", lines(*CORPUS))
    write(folder, "queries.jsonl", lines(*QUERIES))
    write(folder, "qrels/test.tsv", QRELS)
    return folder


# --- BEIR folders --------------------------------------------------------------------------------


def test_a_beir_folder_is_read_whole(beir: Path) -> None:
    assert load_beir(beir) == Beir(
        "tiny",
        "test",
        (
            Passage("p1", "Export", CORPUS[0]["text"]),
            Passage("p2", "", CORPUS[1]["text"]),
            Passage("p3", "The export of invoices", " "),
            Passage("p4", "", ""),
        ),
        {"q1": "How do I export CSV?", "q2": "When is an invoice due?"},
        {"q1": {"p1": 2, "p3": 1}, "q2": {"p2": 1, "p4": 0}},
        unjudged=1,
    )


def test_line_ends_byte_order_marks_and_blank_lines_are_no_matter(beir: Path) -> None:
    expected = load_beir(beir)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        content = (beir / name).read_bytes().replace(b"\n", b"\r\n")
        write(beir, name, b"\xef\xbb\xbf" + content + b"\r\n")
    assert load_beir(beir) == expected


def test_texts_are_normalised_and_a_line_separator_inside_one_parts_nothing(beir: Path) -> None:
    text = "e\u0301te\u0301\u2028two\r\nlines \ud800"
    row = json.dumps({"_id": "p1", "text": text.removesuffix("\ud800")}, ensure_ascii=False)
    write(beir, "corpus.jsonl", row.replace("lines ", "lines \\ud800") + "\n" + lines(*CORPUS[1:]))
    assert load_beir(beir).passages[0].text == "été\u2028two\nlines ?"


def test_the_split_is_test_or_the_only_one_or_the_one_named(beir: Path) -> None:
    write(beir, "qrels/dev.tsv", "q3\tp1\t1\n")  # a header may be missing
    assert load_beir(beir).split == "test"
    assert list(load_beir(beir, "dev").queries) == ["q3"]
    with pytest.raises(
        LabError, match=r"^There is no train\.tsv in .*\. Splits found: dev, test\.$"
    ):
        load_beir(beir, "train")
    (beir / "qrels/test.tsv").unlink()
    assert load_beir(beir).split == "dev"
    (beir / "qrels/dev.tsv").unlink()
    with pytest.raises(LabError, match=r"Splits found: none\.$"):
        load_beir(beir)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", "{", "corpus.jsonl, line 1: this is no JSON ("),
        ("corpus.jsonl", "\n[1]\n", 'corpus.jsonl, line 2: there is no "_id" that is text.'),
        ("corpus.jsonl", '{"_id": 1}', 'corpus.jsonl, line 1: there is no "_id" that is text.'),
        ("corpus.jsonl", lines(CORPUS[0], CORPUS[0]), "line 2: the id 'p1' is there twice."),
        ("corpus.jsonl", '{"_id": "p1"}', 'line 1: "text" is None; it must be text.'),
        (
            "corpus.jsonl",
            '{"_id": "p1", "title": 7, "text": ""}',
            'line 1: "title" is 7; it must be text.',
        ),
        ("corpus.jsonl", b'{"_id": "\xe9"}', "corpus.jsonl is no UTF-8 text ("),
        ("corpus.jsonl", lines(CORPUS[1]), "qrels/test.tsv, line 2: there is no passage 'p1'."),
        ("queries.jsonl", lines({"_id": "q1", "text": " "}), "the query 'q1' is empty."),
        ("queries.jsonl", lines(QUERIES[1]), "qrels/test.tsv, line 2: there is no query 'q1'."),
        (
            "qrels/test.tsv",
            "q1 0 p1 1\n",
            "line 1: expected query-id, corpus-id and a whole number",
        ),
        ("qrels/test.tsv", "q1\tp1\t0.5\n", "got ['q1', 'p1', '0.5']."),
        (
            "qrels/test.tsv",
            "q1\tp1\t1\nq1\tp1\t2\n",
            "line 2: 'q1' and 'p1' have been judged other",
        ),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "qrels/test.tsv holds no judgement."),
    ],
)
def test_what_is_wrong_with_a_folder_is_said_with_its_line(
    beir: Path, name: str, content: str | bytes, message: str
) -> None:
    write(beir, name, content)
    with pytest.raises(LabError, match=re.escape(message)):
        load_beir(beir)


def test_a_missing_file_or_folder_is_named(beir: Path) -> None:
    (beir / "queries.jsonl").unlink()
    with pytest.raises(LabError, match=r"queries\.jsonl is missing\. A BEIR folder holds corpus"):
        load_beir(beir)
    with pytest.raises(LabError, match="is no folder"):
        load_beir(beir / "queries.jsonl")


def test_a_passage_is_one_chunk_and_a_blank_one_none() -> None:
    cut = [WholePassage().chunk(passage_document(Passage(**row))) for row in (
        {"id": "p1", "title": "Export", "text": "You can export.\n\nTwice."},
        {"id": "p3", "title": "The export of invoices", "text": " "},
        {"id": "p4", "title": "", "text": ""},
    )]  # fmt: skip
    assert [[c.searchable for c in chunks] for chunks in cut] == [
        ["Export\nYou can export.\n\nTwice."],
        ["The export of invoices"],
        [],
    ]
    assert cut[0][0].source_id == "p1"
    assert READER.grants == {cut[0][0].meta.scope}
    assert cut[0][0].meta.valid_from <= DAY


# --- annotated questions -------------------------------------------------------------------------

QUESTION: dict[str, Any] = {
    "id": "k1",
    "question": "How do I export?",
    "language": "en",
    "as_of": "2026-10-23",
    "viewer": "reader",
    "answerable": True,
    "kind": "direct",
    "document": "export",
    "quotation": "You can export CSV.",
}
PARTS = [
    {"document": "export", "quotation": "You can export CSV.", "also": ["exporter"]},
    {"document": "invoices", "quotation": "Invoices are due."},
]


def test_questions_of_every_form_are_read(tmp_path: Path) -> None:
    several = {k: v for k, v in QUESTION.items() if k not in ("document", "quotation")}
    unanswerable = {**several, "answerable": False, "why": "far"}
    del unanswerable["kind"]
    path = write(
        tmp_path,
        "questions.jsonl",
        lines(
            QUESTION,
            {**QUESTION, "also": ["exporter"], "half": "held-out"},
            {**several, "parts": PARTS, "kind": "several-documents", "half": "development"},
            unanswerable,
        ),
    )
    found = load_annotated(path)
    one = Part("export", "You can export CSV.")
    assert [item.parts for item in found] == [
        (one,),
        (replace(one, also=("exporter",)),),
        (replace(one, also=("exporter",)), Part("invoices", "Invoices are due.")),
        (),
    ]
    assert [item.half for item in found] == ["", "held-out", "development", ""]
    assert [item.question.kind for item in found][2:] == ["several-documents", "far"]


@pytest.mark.parametrize(
    "changes",
    [
        {"quotation": None},
        {"quotation": " "},
        {"document": None},
        {"parts": [PARTS[0], {"document": "x"}]},
        {"parts": ["x"]},
        {"parts": 7},
    ],
)
def test_an_answerable_question_without_its_quotation_is_named(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = write(tmp_path, "q.jsonl", lines(QUESTION, {**QUESTION, "id": "k2", **changes}))
    with pytest.raises(LabError, match=r"^q\.jsonl, line 2: k2 is answerable, and an answerable"):
        load_annotated(path)


def test_a_line_that_is_no_question_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "q.jsonl", lines(QUESTION, {"id": "k2"}))
    with pytest.raises(LabError, match=r"^q\.jsonl, line 2: no annotated question"):
        load_annotated(path)


# --- scores of one question ----------------------------------------------------------------------


def hits(*pairs: tuple[str, str]) -> list[Hit]:
    parts: dict[str, int] = {}
    found = []
    for name, text in pairs:
        parts[name] = parts.get(name, -1) + 1
        found.append(Hit(chunk(name, text, parts[name])))
    return found


EXPORT = Part("export", "You can export CSV.", also=("exporter",))
INVOICES = Part("invoices", "Invoices are due.")


def test_a_passage_that_holds_the_quotation_counts_and_its_neighbours_do_not() -> None:
    ranked = hits(("export", "Intro"), ("other", EXPORT.quotation), ("export", EXPORT.quotation))
    assert score_parts(ranked, [EXPORT], 3) == {
        "document_recall": 1,
        "recall": 1,
        "hit_rate": 1,
        "mrr": pytest.approx(1 / 3),
        "ndcg": 0.5,
    }
    near = score_parts(ranked, [EXPORT], 2)
    assert (near["document_recall"], near["recall"]) == (1, 0)


def test_overlapping_passages_that_both_hold_it_count_once() -> None:
    ranked = hits(("export", EXPORT.quotation), ("export", f"{EXPORT.quotation} More."))
    assert score_parts(ranked, [EXPORT, INVOICES], 2)["recall"] == 0.5


def test_a_document_that_answers_as_well_is_as_good_for_the_recall_of_documents() -> None:
    scores = score_parts(hits(("exporter", "Vous pouvez exporter.")), [EXPORT], 5)
    assert (scores["document_recall"], scores["recall"]) == (1, 0)


def test_a_passage_may_hold_two_parts() -> None:
    here = Part("export", "Or call us.")
    ranked = hits(("x", "no"), ("export", f"{EXPORT.quotation} {here.quotation}"))
    scores = score_parts(ranked, [EXPORT, here], 2)
    assert (scores["document_recall"], scores["recall"], scores["mrr"]) == (1, 1, 0.5)
    assert set(score_parts(ranked[1:], [EXPORT, here], 1).values()) == {1.0}


def test_a_refusal_scores_0_and_an_unanswerable_question_not_at_all() -> None:
    assert set(score_parts([], [EXPORT], 5).values()) == {0.0}
    assert set(score_parts(hits(("x", "y")), [], 5).values()) == {None}
    assert set(score_passages([], {"p1": 0}, 5).values()) == {None}


def test_passages_of_a_data_set_are_judged_by_their_grades() -> None:
    scores = score_passages(hits(("p3", "-"), ("p1", "-")), {"p1": 2, "p3": 1, "p9": 0}, 1)
    assert scores == {"recall": 0.5, "hit_rate": 1, "mrr": 1, "ndcg": 0.5}


# --- the report ----------------------------------------------------------------------------------


def measured(ranking: str, kind: str, score: float | None, refused: bool = False) -> Measured:
    return Measured("toy", ranking, kind, {"recall": score}, refused)


def test_figures_stand_by_kind_with_rankings_side_by_side() -> None:
    rows = make_rows(
        [
            measured("dense", "table", 1.0),
            measured("strict", "table", 0.0, refused=True),
            measured("dense", "far", None),
            measured("strict", "far", None, refused=True),
        ]
    )
    assert [(row.ranking, row.kind, row.questions) for row in rows] == [
        ("dense", "all", 2),
        ("dense", "table", 1),
        ("dense", "far", 1),
        ("strict", "all", 2),
        ("strict", "table", 1),
        ("strict", "far", 1),
    ]
    assert as_text(rows, 5).splitlines() == [
        "toy: recall@5 of passages, mean [95 % interval]",
        "kind       n  left out  dense                 strict",
        "all        1         1  1.000 [0.21, 1.00]    0.000 [0.00, 0.79]",
        "table      1         0  1.000 [0.21, 1.00]    0.000 [0.00, 0.79]",
        "",
        "toy: answerable questions refused by the search, mean [95 % interval]",
        "kind       n  left out  dense                 strict",
        "all        1         1  0.000 [0.00, 0.79]    1.000 [0.21, 1.00]",
        "table      1         0  0.000 [0.00, 0.79]    1.000 [0.21, 1.00]",
        "",
        "toy: unanswerable questions refused by the search, mean [95 % interval]",
        "kind      n  left out  dense                 strict",
        "all       1         1  0.000 [0.00, 0.79]    1.000 [0.21, 1.00]",
        "far       1         0  0.000 [0.00, 0.79]    1.000 [0.21, 1.00]",
    ]
    assert rows[0].to_dict()["recall"] == {
        "n": 1,
        "excluded": 1,
        "mean": 1.0,
        "low": pytest.approx(0.2065, abs=1e-4),
        "high": 1.0,
        "method": "wilson",
    }


def test_a_report_of_nothing_is_empty() -> None:
    assert make_rows([]) == []
    assert as_text([], 5) == ""


# --- labkit eval ---------------------------------------------------------------------------------

SETTINGS = """source_root = "docs"
[embedding]
service_url = "{url}"
model = "ideas"
dimension = 3
[retrieval]
policy = "strict"
threshold = 0.9
[store]
path = "index.sqlite"
[plain]
scope = "ACME/readers"
[viewers.reader]
organisation = "ACME"
scopes = ["readers"]
"""


def _idea(text: str) -> list[float]:
    word = text.casefold()
    return [1.0, 0.1, 0.2] if "export" in word else [0.1, 1, 0] if "invoice" in word else [0, 0, 1]


def ideas(request: Request) -> Reply:
    return embeddings(*map(_idea, request.json["input"]))


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(then=ideas) as server:
        yield server


@pytest.fixture
def lab(tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two documents and the settings for a model of three ideas."""
    write(tmp_path, "labkit.toml", SETTINGS.format(url=model.url))
    write(tmp_path, "docs/export.md", "# Export\n\nYou can export CSV. It takes a minute.\n")
    write(tmp_path, "docs/invoices.md", "# Invoices\n\nInvoices are due. They are in euros.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return int(ended.value.code or 0), out, err


def figures(out: str, metric: str) -> dict[tuple[str, str], tuple[int, int, float | None]]:
    """(ranking, kind) → (n, excluded, mean)."""
    return {
        (row["ranking"], row["kind"]): tuple(row[metric][key] for key in ("n", "excluded", "mean"))
        for row in json.loads(out)["rows"]
    }


def test_eval_of_a_beir_folder_leaves_no_trace_beside_the_vectors(
    lab: Path, beir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "eval", str(beir), "--json")
    assert (code, err) == (0, "")
    value = json.loads(out)
    assert (value["data"], value["k"]) == ("tiny", 10)
    assert value["notes"][1] == "Not asked: 1 queries that test does not judge."
    assert figures(out, "recall") == {
        ("dense", "tiny"): (2, 0, 1),
        ("lexical", "tiny"): (2, 0, 1),
        ("strict", "tiny"): (2, 0, 1),
    }
    assert figures(out, "ndcg")["dense", "tiny"] == (2, 0, 1)
    assert not (lab / "index.sqlite").exists()


def questions(folder: Path, *extra: dict[str, Any]) -> str:
    several = {**QUESTION, "id": "k2", "parts": PARTS, "kind": "several-documents"}
    far = {**QUESTION, "id": "k3", "question": "Who walked on the Moon?", "answerable": False}
    rows = [
        {**QUESTION, "half": "development"},
        {**several, "question": "When are invoices due, and how do I export?"},
        {**far, "kind": "far"},
        *extra,
    ]
    return str(write(folder, "questions.jsonl", lines(*rows)))


def test_eval_of_annotated_questions_measures_the_index_in_use(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "rebuild")[0] == 0
    code, out, err = run(capsys, "eval", questions(lab), "--json", "--k", "2")
    assert (code, err) == (0, "")
    assert figures(out, "recall") == {
        **{(name, "all"): (2, 1, 1) for name in ("dense", "lexical")},
        **{(name, "direct"): (1, 0, 1) for name in ("dense", "lexical", "strict")},
        **{(name, "several-documents"): (1, 0, 1) for name in ("dense", "lexical")},
        **{(name, "far"): (0, 1, None) for name in ("dense", "lexical", "strict")},
        ("strict", "all"): (2, 1, 0.75),
        ("strict", "several-documents"): (1, 0, 0.5),  # one idea a question: the other is far
    }
    assert figures(out, "refusals")["strict", "far"] == (1, 0, 1)
    assert figures(out, "refusals")["dense", "far"] == (1, 0, 0)
    assert figures(out, "false_refusals")["strict", "all"] == (2, 1, 0)
    _, text, _ = run(capsys, "eval", questions(lab), "--half", "development")
    assert "minilm: recall@5 of documents, mean [95 % interval]\nkind        n" in text
    assert "several-documents" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--half", "west"],
            "questions.jsonl holds no question of the half 'west'. Halves found: ",
        ),
        (["--policy", "guess"], "retrieval.policy is 'guess'. Known"),
        (["--profile", "guess"], "embedding.profile is 'guess'. Known profiles: "),
        (["--k", "0"], "Invalid value for '--k'"),
    ],
)
def test_what_eval_cannot_do_is_one_sentence_and_exit_2(
    lab: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    run(capsys, "rebuild")
    code, out, err = run(capsys, "eval", questions(lab), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"labkit: {message}")
    assert err.count("\n") == 1


def test_eval_without_an_index_or_with_a_stale_one_says_so(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "There is no index" in run(capsys, "eval", questions(lab))[2]
    run(capsys, "rebuild")
    write(lab, "docs/export.md", "# Export\n\nOther words.\n")
    code, _, err = run(capsys, "eval", questions(lab))
    assert (code, "corpus_sha256" in err) == (2, True)


def test_eval_on_another_folders_documents_says_so_instead_of_scoring_0(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "rebuild")
    elsewhere = {**QUESTION, "id": "k9", "document": "elsewhere"}
    code, _, err = run(capsys, "eval", questions(lab, elsewhere))
    assert code == 2
    assert err == (
        "labkit: Question k9 is answered by 'elsewhere'; 1 of 3 such documents are not in the "
        "index. Index the folder that the questions were written for, LABKIT_CORPUS=FOLDER. "
        "Run: labkit rebuild. Or measure on an index of its own: --source FOLDER\n"
    )
    check_documents(load_annotated(Path(questions(lab))), SqliteStore(lab / "index.sqlite"))


def test_eval_of_a_source_takes_it_in_as_ingest_does(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cut by structure, from more than one folder, with what is left out named; no index needed."""
    write(lab, "more/invoices.md", "# Invoices\n\nInvoices are due. They are in euros.\n")
    write(lab, "more/SCRATCH.md", "# Scratch\n\nInvoices are never due.\n")
    write(lab, "more/broken.md", b"# Broken \xff\n")
    (lab / "docs/invoices.md").unlink()
    sources = ("--source", "docs", "--source", "more")
    both = ("--policy", "strict", "--policy", "hybrid")
    code, out, err = run(capsys, "eval", questions(lab), *sources, *both, "--json")
    assert (code, err) == (0, "")
    assert figures(out, "document_recall")["dense", "all"] == (2, 1, 1)
    assert figures(out, "refusals")["hybrid", "far"] == (1, 0, 1)
    notes = json.loads(out)["notes"]
    assert [note for note in notes if "Not in the index" in note] == [
        "Not in the index: broken.md: byte 9 is not UTF-8. Save the file as UTF-8."
    ]
    assert not any("SCRATCH" in note for note in notes)
    assert not (lab / "index.sqlite").exists()


def test_eval_of_a_source_that_is_none_says_so(
    lab: Path, beir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "eval", questions(lab), "--source", "nowhere")
    assert code == 2
    assert err == "labkit: --source 'nowhere' is no folder. Name one that holds documents.\n"
    code, _, err = run(capsys, "eval", str(beir), "--source", "docs")
    assert code == 2
    assert err == "labkit: A BEIR folder brings its own passages. Leave --source out.\n"


def test_what_hybrid_calibrates_on_is_what_it_decides_by(
    lab: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are enough for both answerable questions, so every threshold keeps them; the far one
    has a cosine of 0.2 / sqrt(1.05) to the nearest passage, that of exports."""
    monkeypatch.setenv("LABKIT_RETRIEVAL_POLICY", "hybrid")
    run(capsys, "rebuild")
    code, out, _ = run(capsys, "calibrate", "--questions", questions(lab), "--json")
    assert code == 0
    table = {row["threshold"]: row for row in json.loads(out)["table"]}
    assert table[0.7] == {"threshold": 0.7, "kept": 2, "let_through": 0}
    assert table[0.15]["let_through"] == 1


# --- real data -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "passages", "queries"), [("xquad-en", 240, 1190), ("cnil-fr", 512, 512)]
)
def test_real_folders_are_read_whole(
    real_data: Path, name: str, passages: int, queries: int
) -> None:
    found = load_beir(real_data / "retrieval" / name)
    assert (len(found.passages), len(found.queries), found.unjudged) == (passages, queries, 0)
