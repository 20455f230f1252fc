"""The self-quiz of each lesson: the same three questions before and after."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its choices; `right` counts from 1, `why` is told after the lesson."""

    text: str
    choices: tuple[str, ...]
    right: int
    why: str


QUIZZES: dict[int, tuple[Question, Question, Question]] = {
    0: (
        Question(
            "A model writes a fluent sentence and names a source. What does that prove?",
            ("that the source says so", "that the source exists", "nothing yet"),
            3,
            "Names and sentences can be invented; only finding the words in the source counts.",
        ),
        Question(
            "The documents do not answer a question. What should the engine do?",
            ("give its best guess", "refuse and say why", "search again with other words"),
            2,
            "A refusal with its reason is a result: it tells the reader where the documents end.",
        ),
        Question(
            "A quotation was found letter for letter in a document. What is proved?",
            ("the words stand there", "the words are true", "the document is complete"),
            1,
            "The gate checks letters. Whether the source is right is not for it to say.",
        ),
    ),
    1: (
        Question(
            "The same accented letter can be stored as one code point or as two. What helps?",
            ("deleting accents", "composing to NFC once, at reading", "comparing bytes"),
            2,
            "After NFC equal text is equal data, and every offset counted later stays right.",
        ),
        Question(
            "A document lacks the field that says who may read it. What is safest?",
            ("take the most common scope", "show it to everyone", "report the file and the field"),
            3,
            "Governance that guesses is no governance; an error names what to mend.",
        ),
        Question(
            "What must a fingerprint of a corpus not depend on?",
            ("the order of the files", "the texts", "who may read them"),
            1,
            "The order on disk is chance; texts and metadata can both change an answer.",
        ),
    ),
    2: (
        Question(
            "Windows of 600 with an overlap of 80: how far apart are two starts?",
            ("520", "600", "80"),
            1,
            "Each step is size minus overlap.",
        ),
        Question(
            "What happens when overlap equals size?",
            ("windows are doubled", "the loop never moves on", "nothing special"),
            2,
            "The step is 0; such sizes have to be refused before the loop.",
        ),
        Question(
            "How do you know where a chunk stands in its document?",
            ("search for its text", "count the chunks before it", "keep the offset you cut it at"),
            3,
            "A passage may repeat, and then a search finds the first copy, not this one.",
        ),
    ),
    3: (
        Question(
            "One vector is twice as long as another, in the same direction. Their cosine?",
            ("2", "1", "0.5"),
            2,
            "Cosine measures the angle; length is divided out.",
        ),
        Question(
            "What is the cosine of a zero vector with another one?",
            ("0", "1", "there is none"),
            3,
            "It has no direction. Calling that 0 would pass a broken embedding off as unrelated.",
        ),
        Question(
            "A threshold of 0.60 works for one model. For another model it is",
            ("as good", "meaningless until calibrated", "too low"),
            2,
            "Every model has its own vector space, and its own range of cosines.",
        ),
    ),
    4: (
        Question(
            "A rebuild fails half-way. What should a reader see?",
            ("the old index", "the new part", "an empty index"),
            1,
            "One transaction: all of it or nothing, and until then the old one.",
        ),
        Question(
            "When should the vectors be computed?",
            ("inside the transaction", "before it", "after it"),
            2,
            "Embedding is slow and can fail; a transaction should be short and sure.",
        ),
        Question(
            "Two models give vectors of 384 numbers. May they share an index?",
            ("yes", "no", "yes, if both are normalised"),
            2,
            "Equal dimension is not equal space; the manifest compares the whole identity.",
        ),
    ),
    5: (
        Question(
            "Why not add a cosine and a BM25 score?",
            ("it is slow", "their scales have nothing in common", "BM25 is negative"),
            2,
            "Ranks can be compared where scores cannot; that is the idea of rank fusion.",
        ),
        Question(
            "A passage is missing from one of two rankings. What does that ranking add?",
            ("nothing", "the gain of the last rank", "the gain of rank 1"),
            1,
            "What a list does not hold, it does not vote for.",
        ),
        Question(
            "The threshold is applied before ranks are taken. What goes wrong?",
            ("nothing", "a passage's rank depends on who else passed", "ties"),
            2,
            "Ranks are taken over all eligible passages; only then does the threshold choose.",
        ),
    ),
    6: (
        Question(
            "A document is valid until 23 October. On that day it is",
            ("in force", "expired", "in force until noon"),
            1,
            "Both days at the borders belong to the validity.",
        ),
        Question(
            "A viewer has no scope at all. What may the viewer read?",
            ("public documents", "everything", "nothing"),
            3,
            "No grant means nothing; an empty list is not a wildcard.",
        ),
        Question(
            "A document says: everyone may read this. What does that change?",
            ("the viewer's rights", "nothing", "its status"),
            2,
            "Rights come from the caller; a document's own words never grant any.",
        ),
    ),
    7: (
        Question(
            "A quotation differs from the passage by one dash. The gate should",
            ("accept it", "repair it", "refuse it"),
            3,
            "Letter for letter: whoever repairs a quotation decides what the source said.",
        ),
        Question(
            "Two of three citations are right. What is published?",
            ("the two", "nothing", "all three, with a warning"),
            2,
            "An answer minus a part is another answer; one bad citation refuses all.",
        ),
        Question(
            "A true quotation stops before 'unless'. The gate",
            ("refuses it", "lets it pass", "adds the rest"),
            2,
            "Its letters are in the source. Against that, another defence is needed.",
        ),
    ),
    11: (
        Question(
            "A table is longer than the model reads. What becomes of it?",
            ("it is cut between two rows", "it is left out", "one chunk, with a flag"),
            3,
            "Half a table lacks the head that says what it means; the flag says what to expect.",
        ),
        Question(
            "A document is gone from the folder. An incremental run that looks at what is there",
            ("notices that", "leaves it in the index", "embeds everything again"),
            2,
            "What is gone is in no list of files; only a comparison with the index finds it.",
        ),
        Question(
            "An embedding service answers 422. What should its client do?",
            ("ask again, a few times", "leave that text out", "stop, and name the text"),
            3,
            "The text will be as wrong the next time; a text left out would never be found.",
        ),
    ),
}
