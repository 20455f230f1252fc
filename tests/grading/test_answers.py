"""`answers/` is laid out as the tools that look for copies read it, and holds nothing of before."""

from __future__ import annotations

from pathlib import Path

from classroom.exercises import ALL
from classroom.grading.reports.answers import write_answers
from classroom.grading.types import Answer

CHUNKING = [
    Answer("chunk_text", "Zoë", "Zoë", "def chunk_text(text, size, overlap):\n    return []\n\n\n"),
    Answer("chunk_text", "../ana", "__ana-1a2b3c4d5e6f", "x = 1"),
    Answer("chunk_offsets", "Zoë", "Zoë", "y = 2"),
]


def files(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in found}


def test_each_assignment_has_submissions_base_code_and_the_model_solution(tmp_path: Path) -> None:
    root = write_answers([*CHUNKING, Answer("cosine", "Zoë", "Zoë", "z = 3")], tmp_path)
    assert root == tmp_path / "answers"
    below = "ps02_chunking"
    assert files(root) == {
        f"{below}/submissions/Zoë/chunk_text.py": (
            "def chunk_text(text, size, overlap):\n    return []\n"
        ),
        f"{below}/submissions/__ana-1a2b3c4d5e6f/chunk_text.py": "x = 1\n",
        f"{below}/submissions/Zoë/chunk_offsets.py": "y = 2\n",
        f"{below}/starter/chunk_text.py": ALL["chunk_text"].starter,
        f"{below}/starter/chunk_offsets.py": ALL["chunk_offsets"].starter,
        f"{below}/solution/chunk_text.py": ALL["chunk_text"].solution,
        f"{below}/solution/chunk_offsets.py": ALL["chunk_offsets"].solution,
        "ps03_vectors/submissions/Zoë/cosine.py": "z = 3\n",
        "ps03_vectors/starter/cosine.py": ALL["cosine"].starter,
        "ps03_vectors/solution/cosine.py": ALL["cosine"].solution,
    }


def test_who_is_gone_leaves_nothing_and_other_assignments_stay(tmp_path: Path) -> None:
    write_answers([*CHUNKING, Answer("cosine", "Zoë", "Zoë", "z = 3")], tmp_path)
    root = write_answers(CHUNKING[:1], tmp_path)
    students = [path.name for path in (root / "ps02_chunking/submissions").iterdir()]
    assert students == ["Zoë"]
    assert (root / "ps03_vectors/submissions/Zoë/cosine.py").is_file()


def test_without_an_answer_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert files(write_answers([], tmp_path)) == {}
