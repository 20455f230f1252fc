"""The starter corpus keeps its promises: what is in it, who sees it, where each answer stands.

Eligibility is written out here once more, in one short function and on purpose without `labkit`:
the corpus is the measure that the package is held against, so it is not measured by the package.
"""

import datetime
import hashlib
import json
import pathlib
import re
import unicodedata

import pytest
import yaml

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus"
STARTER = CORPUS / "starter"
QUESTIONS = CORPUS / "questions" / "starter.jsonl"

DAY = datetime.date(2026, 10, 23)
ONE_DAY = datetime.timedelta(days=1)
VIEWERS = {
    "reader": ("ACME", ("readers",)),
    "support": ("ACME", ("readers", "support")),
    "globex": ("GLOBEX", ("readers",)),
    "nobody": ("ACME", ()),
}
KINDS = {
    "direct",
    "paraphrase",
    "code",
    "rule-with-exception",
    "table",
    "product-fact",
    "cross-language",
}
WHYS = {
    "other_organisation", "draft", "retired", "not_canonical", "not_yet_valid", "expired",
    "no_scope",
    "unknown_product", "far", "near_miss", "injection", "restricted_scope",
}  # fmt: skip
REQUIRED = {
    "id",
    "title",
    "language",
    "scope",
    "status",
    "canonical",
    "valid_from",
    "version",
    "product",
}
OPTIONAL = {"valid_until"}
PRODUCT_KEYS = {
    "code", "name", "language", "scope", "status", "canonical", "valid_from", "valid_until",
    "version", "facts",
}  # fmt: skip
WINDOW, OVERLAP = 600, 80


# --- reading -------------------------------------------------------------------------------------


def read_document(path):
    """Front matter and body of one Markdown file."""
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return {**yaml.safe_load(front), "path": path, "body": body}


def read_products():
    return yaml.safe_load((STARTER / "products.yaml").read_text(encoding="utf-8"))["products"]


def product_document(product):
    """A product as the document that readers see: one line a fact."""
    lines = [f"{product['code']} – {label}: {value}." for label, value in product["facts"].items()]
    return {
        **product,
        "id": f"PRODUCT-{product['code']}",
        "title": product["name"],
        "body": "\n".join(lines),
    }


FILES = sorted(STARTER.rglob("*.md"))
DOCUMENTS = [read_document(path) for path in FILES]
PRODUCTS = read_products()
EVERYTHING = {d["id"]: d for d in [*DOCUMENTS, *map(product_document, PRODUCTS)]}
ASKED = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
ANSWERABLE = [q for q in ASKED if q["answerable"]]
UNANSWERABLE = [q for q in ASKED if not q["answerable"]]


# --- who may see what ----------------------------------------------------------------------------


def obstacles(document, viewer, day):
    """Why this document is closed to this viewer on this day; empty when it is open."""
    organisation, audience = document["scope"].split("/")
    own, scopes = VIEWERS[viewer]
    tests = {
        "other_organisation": organisation != own,
        "scope": organisation == own and audience not in scopes,
        "draft": document["status"] == "draft",
        "retired": document["status"] == "retired",
        "not_canonical": not document["canonical"],
        "not_yet_valid": day < document["valid_from"],
        "expired": document.get("valid_until") is not None and day > document["valid_until"],
    }
    return {name for name, met in tests.items() if met}


def eligible(viewer, day):
    return {d["id"] for d in EVERYTHING.values() if not obstacles(d, viewer, day)}


def eligible_files(viewer, day):
    return [d for d in DOCUMENTS if not obstacles(d, viewer, day)]


def words(text):
    """Lower-case words without accents, so that hotel meets hôtel and Reporting meets reporting."""
    flat = unicodedata.normalize("NFKD", text.lower()).replace("œ", "oe")
    return set(
        re.findall(
            r"[a-z0-9]+(?:-[0-9]+)?", "".join(c for c in flat if not unicodedata.combining(c))
        )
    )


SMALL = words(
    "a about after and are be before can could d do does for from have how i if in into is it "
    "l last many may mean my n not of on one or our put s see should show shows still t than "
    "that the their there this to use was we what when where which will with you your a au "
    "aux ce combien dans de des du elle en est et faut il je jours la le les leur mon nous on "
    "par peut plus pour puis quand que quel quelle qui sa se si son sur un une votre y "
)


def shared_words(question, document):
    """The words, other than small ones, that a question has in common with a document."""
    return (
        words(question["question"]) & words(document["title"] + "\n" + document["body"])
    ) - SMALL


def windows(body):
    start = 0
    while True:
        end = min(start + WINDOW, len(body))
        yield body[start:end]
        if end == len(body):
            return
        start += WINDOW - OVERLAP


def by_id(items):
    return [pytest.param(item, id=item["id"]) for item in items]


# --- files and front matter ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*FILES, STARTER / "products.yaml", QUESTIONS], ids=lambda p: p.name
)
def test_a_file_is_plain_text(path):
    raw = path.read_bytes()
    text = raw.decode("utf-8")
    assert not raw.startswith(b"\xef\xbb\xbf"), "no byte-order mark here"
    assert b"\r" not in raw, "LF line endings only"
    assert b"\t" not in raw
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert unicodedata.is_normalized("NFC", text)
    controls = [c for c in text if unicodedata.category(c) == "Cc" and c != "\n"]
    assert not controls
    assert not re.search(r"[ \u00a0]$", text, re.MULTILINE), "no blank at the end of a line"


@pytest.mark.parametrize("document", by_id(DOCUMENTS))
def test_front_matter_has_its_keys_and_types(document):
    keys = set(document) - {"path", "body"}
    assert keys >= REQUIRED and keys <= REQUIRED | OPTIONAL
    assert re.fullmatch(r"[a-z0-9-]+", document["id"])
    assert isinstance(document["title"], str) and document["title"].strip()
    assert document["language"] in {"en", "fr"}
    assert re.fullmatch(r"[A-Z]+/[a-z]+", document["scope"])
    assert document["status"] in {"draft", "approved", "retired"}
    assert type(document["canonical"]) is bool
    assert type(document["valid_from"]) is datetime.date
    assert document.get("valid_until") is None or type(document["valid_until"]) is datetime.date
    assert document.get("valid_until") is None or document["valid_until"] >= document["valid_from"]
    assert isinstance(document["version"], str)
    assert document["product"] is None or isinstance(document["product"], str)


@pytest.mark.parametrize("document", by_id(DOCUMENTS))
def test_a_file_lies_in_a_topic_under_its_own_id_and_begins_with_a_heading(document):
    path = document["path"]
    assert path.parent.parent == STARTER
    assert path.stem == document["id"]
    assert re.match(r"# \S", document["body"])


def test_ids_titles_and_bodies_are_unique():
    assert len(EVERYTHING) == len(DOCUMENTS) + len(PRODUCTS)
    assert len({d["title"] for d in DOCUMENTS}) == len(DOCUMENTS)
    assert len({hashlib.sha256(d["body"].encode()).hexdigest() for d in DOCUMENTS}) == len(
        DOCUMENTS
    )


# --- the fifteen ---------------------------------------------------------------------------------


def test_a_reader_sees_fifteen_documents_of_which_four_are_french():
    seen = eligible_files("reader", DAY)
    assert len(seen) == 15
    assert sum(d["language"] == "fr" for d in seen) == 4


def test_the_fifteen_are_short_and_come_into_force_on_many_days():
    seen = eligible_files("reader", DAY)
    assert all(100 <= len(d["body"].split()) <= 450 for d in seen)
    assert sum(120 <= len(d["body"].split()) <= 450 for d in seen) >= 13
    assert len({d["valid_from"] for d in seen}) >= 8
    assert any(d.get("valid_until") for d in seen)


def test_the_fifteen_hold_the_shapes_that_the_lessons_need():
    seen = {d["id"]: d["body"] for d in eligible_files("reader", DAY)}
    assert any(len(body) >= 1800 for body in seen.values()), "a long one"
    assert any(len(body) < 900 and " unless " in body for body in seen.values()), (
        "a rule beside its exception"
    )
    assert sum("\n|---|" in body for body in seen.values()) >= 4, "tables"
    assert any("| E-4021 |" in body for body in seen.values()), "error codes"
    assert any("```" in body for body in seen.values()), "code"
    first = next(line for line in seen["reporting-export"].splitlines() if "CSV" in line).split(
        ". "
    )[0]
    assert all(word in first for word in ("export", "CSV", "Reporting"))


def test_one_rule_stands_far_from_its_exception():
    gaps = []
    for question in ANSWERABLE:
        if "exception" in question and "exception_document" not in question:
            body = EVERYTHING[question["document"]]["body"]
            rule_ends = body.index(question["quotation"]) + len(question["quotation"])
            gaps.append(body.index(question["exception"]) - rule_ends)
    assert max(gaps) > 900
    assert sum(gap < 0 for gap in gaps) >= 5, "and several stand inside the rule's own sentence"


def test_french_is_typeset_as_french():
    bodies = [d["body"] for d in DOCUMENTS if d["language"] == "fr"]
    assert any("’" in body for body in bodies) and any("'" in body for body in bodies)
    assert not any("’" in body and "'" in body for body in bodies), (
        "one kind of apostrophe a document"
    )
    assert any("main-d’œuvre" in body for body in bodies)
    assert any("«\u00a0" in body for body in bodies)
    for body in bodies:
        assert not re.search(r"(?<!\u00a0)[;?!»€]", body)
        assert not re.search(r"«(?!\u00a0)", body)
        assert not re.search(r"[^|\-\s\d]:(?!//)|(?<!\u00a0):\s", body)
        assert not re.search(r"oeuvre|coeur", body)


# --- the ones that must never answer -------------------------------------------------------------

EXCLUDED = {
    "reporting-export-parquet": {"draft"},
    "returns-policy-2024": {"retired"},
    "invoicing-partner-copy": {"not_canonical"},
    "reporting-plans-2027": {"not_yet_valid"},
    "autumn-offer-2026": {"expired"},
    "globex-reseller-discounts": {"other_organisation"},
    "support-goodwill": {"scope"},
    "partner-upload-antenna-tips": {"scope", "draft"},
}


def test_each_excluded_document_is_closed_for_its_own_reason_and_no_other():
    closed = {
        d["id"]: obstacles(d, "reader", DAY) for d in DOCUMENTS if obstacles(d, "reader", DAY)
    }
    assert closed == EXCLUDED


def test_support_sees_one_more_and_nobody_else_sees_a_mixture():
    assert eligible("support", DAY) == eligible("reader", DAY) | {"support-goodwill"}
    assert eligible("globex", DAY) == {"globex-reseller-discounts"}
    assert eligible("nobody", DAY) == set()


def test_the_upload_with_instructions_is_closed_to_everybody():
    upload = EVERYTHING["partner-upload-antenna-tips"]
    assert "ignore previous instructions" in upload["body"]
    assert all(upload["id"] not in eligible(viewer, DAY) for viewer in VIEWERS)


def test_old_version_and_copy_differ_from_the_document_in_force():
    for other, current, old, new in [
        ("returns-policy-2024", "returns-policy", "within 14 days", "within 30 days"),
        ("invoicing-partner-copy", "invoicing", "due 45 days", "due 30 days"),
        ("reporting-plans-2027", "reporting-plans", "| Team | €210 |", "| Team | €190 |"),
    ]:
        assert old in EVERYTHING[other]["body"] and old not in EVERYTHING[current]["body"]
        assert new in EVERYTHING[current]["body"] and new not in EVERYTHING[other]["body"]


def test_plans_change_hands_at_the_turn_of_the_year():
    assert {"reporting-plans"} == {
        i for i in eligible("reader", datetime.date(2026, 12, 31)) if "plans" in i
    }
    assert {"reporting-plans-2027"} == {
        i for i in eligible("reader", datetime.date(2027, 1, 1)) if "plans" in i
    }


def test_the_offer_counts_on_its_last_day():
    assert "autumn-offer-2026" in eligible("reader", DAY - ONE_DAY)
    assert "autumn-offer-2026" not in eligible("reader", DAY)


def test_the_export_question_meets_no_word_before_its_day_and_none_at_globex():
    """Closed documents must not be replaced by a neighbour that only sounds alike."""
    before = EVERYTHING["reporting-export"]["valid_from"] - ONE_DAY
    for viewer, day in [("reader", before), ("globex", DAY)]:
        assert eligible(viewer, day), "there is something to find, and it is not this"
        for source in eligible(viewer, day):
            text = EVERYTHING[source]["title"] + "\n" + EVERYTHING[source]["body"]
            assert not [w for w in words(text) if w.startswith(("export", "report", "csv"))], source


# --- product facts -------------------------------------------------------------------------------


def test_products_are_two_and_complete():
    assert [p["code"] for p in PRODUCTS] == ["GX-100", "GX-200"]
    for product in PRODUCTS:
        assert set(product) == PRODUCT_KEYS
        assert type(product["canonical"]) is bool and type(product["valid_from"]) is datetime.date
        assert product["valid_until"] is None and isinstance(product["version"], str)
        assert not obstacles(product, "reader", DAY)


@pytest.mark.parametrize("product", [pytest.param(p, id=p["code"]) for p in PRODUCTS])
def test_a_fact_reads_as_a_line(product):
    assert 5 <= len(product["facts"]) <= 7
    for label, value in product["facts"].items():
        assert isinstance(label, str) and isinstance(value, str)
        assert value == value.strip() and not value.endswith(".")
        assert len(f"{product['code']} – {label}: {value}.") >= 20


def test_documents_know_only_documented_product_codes():
    text = "\n".join(d["title"] + "\n" + d["body"] for d in EVERYTHING.values())
    assert set(re.findall(r"\bGX-\d+", text)) == {"GX-100", "GX-200"}


def test_the_french_warranty_and_the_product_facts_agree():
    french = EVERYTHING["garantie-passerelles"]["body"]
    for product in PRODUCTS:
        months = re.match(
            r"(\d+) months from the date of delivery", product["facts"]["Warranty"]
        ).group(1)
        assert f"{months} mois pour la {product['code']}" in french


# --- questions -----------------------------------------------------------------------------------


def test_question_ids_are_unique_and_in_order():
    assert [q["id"] for q in ASKED] == [f"q{n:03}" for n in range(1, len(ASKED) + 1)]


def test_there_are_enough_questions_of_every_sort():
    assert len(ASKED) >= 60 and len(ANSWERABLE) >= 36 and len(UNANSWERABLE) >= 26
    own_french = [q for q in ANSWERABLE if q["language"] == "fr" and q["kind"] != "cross-language"]
    assert len(own_french) >= 9
    count = {k: sum(q["kind"] == k for q in ANSWERABLE) for k in KINDS}
    assert all(count.values())
    assert (
        count["paraphrase"] >= 5
        and count["cross-language"] >= 2
        and count["rule-with-exception"] >= 5
    )
    reasons = {w: sum(q["why"] == w for q in UNANSWERABLE) for w in WHYS}
    assert all(reasons.values())
    assert reasons["near_miss"] >= 8 and reasons["far"] >= 5


def test_every_eligible_document_and_product_is_asked_for():
    asked = {q["document"] for q in ANSWERABLE}
    assert eligible("reader", DAY) <= asked


def test_no_question_is_asked_twice_in_the_same_place():
    keys = [(q["question"], q["viewer"], q["as_of"]) for q in ASKED]
    assert len(set(keys)) == len(keys)


def test_the_questions_that_the_readme_and_the_lessons_use_are_here():
    told = {
        (q["question"], q["viewer"], q["as_of"]): q.get("document", q.get("why")) for q in ASKED
    }
    csv, day = "Where can I export CSV in Reporting?", "2026-10-23"
    assert told[csv, "reader", day] == "reporting-export"
    assert told[csv, "globex", day] == "other_organisation"
    assert told[csv, "reader", "2025-12-31"] == "not_yet_valid"
    assert told["What is the warranty of GX-999?", "reader", day] == "unknown_product"
    assert told["Who was the first person on the Moon?", "reader", day] == "far"


@pytest.mark.parametrize("question", by_id(ASKED))
def test_a_question_is_well_formed(question):
    common = {"id", "question", "language", "as_of", "viewer", "answerable"}
    if question["answerable"]:
        allowed = common | {
            "document",
            "quotation",
            "kind",
            "also",
            "exception",
            "exception_document",
            "note",
        }
        assert (
            set(question) >= common | {"document", "quotation", "kind"} and set(question) <= allowed
        )
        assert question["kind"] in KINDS
    else:
        assert set(question) == common | {"why", "note"}
        assert question["why"] in WHYS
        assert question["note"].strip() and "\n" not in question["note"]
    assert question["question"] == question["question"].strip() != ""
    assert question["language"] in {"en", "fr"}
    assert question["viewer"] in VIEWERS
    datetime.date.fromisoformat(question["as_of"])


@pytest.mark.parametrize("question", by_id(ANSWERABLE))
def test_an_answer_stands_in_a_document_open_to_the_asker(question):
    open_to = eligible(question["viewer"], datetime.date.fromisoformat(question["as_of"]))
    body = EVERYTHING[question["document"]]["body"]
    assert question["document"] in open_to
    assert len(question["quotation"].strip()) >= 20
    assert question["quotation"] in body
    assert any(question["quotation"] in window for window in windows(body)), (
        "a window of 600/80 cuts the quotation"
    )
    assert set(question.get("also", [])) <= open_to - {question["document"]}


@pytest.mark.parametrize(
    "question", by_id(q for q in ANSWERABLE if q["kind"] == "rule-with-exception")
)
def test_an_exception_stands_where_it_is_said_to_stand(question):
    place = question.get("exception_document", question["document"])
    assert place in eligible(question["viewer"], datetime.date.fromisoformat(question["as_of"]))
    assert len(question["exception"]) >= 20
    assert question["exception"] in EVERYTHING[place]["body"]


@pytest.mark.parametrize("question", by_id(ANSWERABLE))
def test_a_quotation_stands_in_no_other_open_document(question):
    open_to = eligible(question["viewer"], datetime.date.fromisoformat(question["as_of"]))
    assert [i for i in open_to if question["quotation"] in EVERYTHING[i]["body"]] == [
        question["document"]
    ]


@pytest.mark.parametrize("question", by_id(ANSWERABLE))
def test_a_question_shares_a_significant_word_with_its_document(question):
    document = EVERYTHING[question["document"]]
    assert shared_words(question, document), "the lexical side of the search would find nothing"


@pytest.mark.parametrize("question", by_id(q for q in ANSWERABLE if q["kind"] == "paraphrase"))
def test_a_paraphrase_avoids_the_wording_of_its_document(question):
    quoted = words(question["quotation"])
    assert len(words(question["question"]) & quoted) <= len(quoted) / 2
    asked, body = question["question"].lower(), EVERYTHING[question["document"]]["body"].lower()
    runs = [asked.split()[i : i + 4] for i in range(len(asked.split()) - 3)]
    assert not [run for run in runs if " ".join(run) in body], (
        "four words in a row are a quotation already"
    )


@pytest.mark.parametrize("question", by_id(q for q in ANSWERABLE if q["kind"] == "cross-language"))
def test_a_cross_language_question_crosses(question):
    assert question["language"] != EVERYTHING[question["document"]]["language"]


@pytest.mark.parametrize("question", by_id(q for q in ANSWERABLE if q["kind"] == "product-fact"))
def test_a_product_fact_is_quoted_as_a_whole_line(question):
    assert question["document"].startswith("PRODUCT-")
    assert question["quotation"] in EVERYTHING[question["document"]]["body"].splitlines()


@pytest.mark.parametrize("question", by_id(q for q in ANSWERABLE if q["kind"] == "table"))
def test_a_table_cell_is_quoted_with_its_row(question):
    assert question["quotation"] in EVERYTHING[question["document"]]["body"].splitlines()


CLOSED_DOCUMENT = {
    # why: the obstacle that closes the one document which would have answered
    "draft": "draft",
    "retired": "retired",
    "not_canonical": "not_canonical",
    "not_yet_valid": "not_yet_valid",
    "expired": "expired",
    "restricted_scope": "scope",
    "other_organisation": "other_organisation",
}


@pytest.mark.parametrize("question", by_id(q for q in UNANSWERABLE if q["why"] in CLOSED_DOCUMENT))
def test_a_reason_is_met_by_some_document_on_that_day(question):
    day = datetime.date.fromisoformat(question["as_of"])
    obstacle = CLOSED_DOCUMENT[question["why"]]
    closed = [d for d in EVERYTHING.values() if obstacle in obstacles(d, question["viewer"], day)]
    assert [d["id"] for d in closed if shared_words(question, d)]


@pytest.mark.parametrize(
    "question", by_id(q for q in UNANSWERABLE if q["why"] == "unknown_product")
)
def test_an_unknown_product_is_unknown(question):
    known = "\n".join(d["title"] + "\n" + d["body"] for d in EVERYTHING.values())
    codes = re.findall(r"\bGX-\d+", question["question"])
    assert codes and not [code for code in codes if code in known]


def test_no_scope_is_asked_by_somebody_without_scope():
    asked = [q for q in UNANSWERABLE if q["why"] == "no_scope"]
    assert {q["viewer"] for q in asked} == {"nobody"}


# --- the page that explains it -------------------------------------------------------------------


def test_the_readme_lists_every_document():
    text = (CORPUS / "README.md").read_text(encoding="utf-8")
    assert not [d["id"] for d in DOCUMENTS if f"`{d['id']}`" not in text]
    assert "CC BY 4.0" in text


def test_addresses_are_reserved_for_examples():
    """No mailbox, site or telephone of a real person: .example and 01 99 00 are reserved."""
    text = "\n".join(d["body"] for d in DOCUMENTS)
    hosts = re.findall(r"@([\w.-]+\w)|https?://([\w.-]+)", text)
    assert hosts and all((a or b).endswith(".example") for a, b in hosts)
    phones = re.findall(r"\b0\d(?:[ \u00a0.]\d\d){4}\b", text)
    assert phones and all(re.sub(r"\D", "", p).startswith("019900") for p in phones)
