"""Transfer: vectors from a service that may fail

Return the vector of each of `texts`, in their order. `post(batch)` sends a list of at most `size`
texts to an embedding service and returns its reply: `{'status': 200, 'vectors': [{'index': 0,
'vector': [...]}, ...]}`. The index is the place of the text in its batch, from 0; the items come in
any order. Fill each batch before you begin the next.

A status from 400 to 499 says that the texts are at fault: raise `ValueError` at once. A status of
500 or more, or a `TimeoutError` that `post` raises, is the service's fault: ask again for the same
batch, up to `tries` requests for it in all, without waiting; then raise `ConnectionError`. Return
either all vectors or none. Without texts, ask nothing.

Each case says what becomes of the first requests, one after the other; all later ones have
status 200. The result shows which requests were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Case, Exercise, Strategy, mistakes_of
from classroom.inside.scenarios import TIMED_OUT, served


def embed_with_service(
    texts: list[str], post: Callable[[list[str]], dict], size: int, tries: int
) -> list[list[float]]:
    """The vector of each text, in order; ValueError or ConnectionError if there is none."""

    def ask(batch: list[str]) -> list[dict]:
        for _ in range(tries):
            try:
                reply = post(batch)
            except TimeoutError:
                continue
            if reply["status"] < 400:
                return sorted(reply["vectors"], key=lambda item: item["index"])
            if reply["status"] < 500:
                raise ValueError(f"the service refused these texts: {reply['status']}")
        raise ConnectionError(f"no answer after {tries} tries")

    vectors = []
    for start in range(0, len(texts), size):
        vectors += [item["vector"] for item in ask(texts[start : start + size])]
    return vectors


Vectors: TypeAlias = list[list[float]]


Reply: TypeAlias = dict[str, Any]  # status, vectors: a list of {"index", "vector"}


Post: TypeAlias = Callable[[list[str]], Reply]


_OK, _INPUT_ERROR, _SERVER_ERROR = 200, 400, 500


_NEVER = 10**6


def _all_batches(
    texts: list[str],
    post: Post,
    size: int,
    tries: int,
    ask: Callable[[list[str], Post, int], Reply] | None = None,
) -> Vectors:
    """All vectors in order; `ask` asks for one batch until there is an answer."""
    ask = ask or _asked
    vectors: Vectors = []
    for batch in _batches(texts, size):
        vectors += _in_order(ask(batch, post, tries))
    return vectors


def _batches(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _in_order(reply: Reply) -> Vectors:
    return [item["vector"] for item in sorted(reply["vectors"], key=lambda item: item["index"])]


def _tried(batch: list[str], post: Post) -> Reply:
    """One request; a time-out is a failure of the server's."""
    try:
        return post(batch)
    except TimeoutError:
        return {"status": _SERVER_ERROR, "vectors": []}


def _asked(batch: list[str], post: Post, tries: int) -> Reply:
    for _ in range(tries):
        reply = _tried(batch, post)
        if reply["status"] < _INPUT_ERROR:
            return reply
        if reply["status"] < _SERVER_ERROR:
            raise ValueError(f"the service refused a text: {reply['status']}")
    raise ConnectionError("the service does not answer")


def order_of_arrival(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The vectors are taken as they arrive: each belongs to the text that its index names."""
    vectors: Vectors = []
    for batch in _batches(texts, size):
        vectors += [item["vector"] for item in _asked(batch, post, tries)["vectors"]]
    return vectors


def index_of_all_texts(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The index is taken for a place among all texts: it counts from 0 in every batch."""
    found = {}
    for batch in _batches(texts, size):
        found.update(
            {item["index"]: item["vector"] for item in _asked(batch, post, tries)["vectors"]}
        )
    return [found[index] for index in sorted(found)]


def input_error_retried(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """An input error is tried again: the same texts will be wrong each time, so raise at once."""

    def ask(batch: list[str], post: Post, tries: int) -> Reply:
        for _ in range(tries):
            reply = _tried(batch, post)
            if reply["status"] < _INPUT_ERROR:
                return reply
        raise ValueError if reply["status"] < _SERVER_ERROR else ConnectionError

    return _all_batches(texts, post, size, tries, ask)


def only_422_known(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """Of the input errors only 422 ends the work at once: 400 and 413 are as much your fault."""

    def ask(batch: list[str], post: Post, tries: int) -> Reply:
        for _ in range(tries):
            reply = _tried(batch, post)
            if reply["status"] < _INPUT_ERROR:
                return reply
            if reply["status"] == 422:
                raise ValueError
        raise ConnectionError

    return _all_batches(texts, post, size, tries, ask)


def no_second_try(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The first failure of the server ends everything: it may work again a moment later."""
    return embed_with_service(texts, post, size, min(tries, 1))


def time_out_let_through(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """A time-out is not caught: it is a failure of the server's like any other, so try again."""

    def ask(batch: list[str], post: Post, tries: int) -> Reply:
        for _ in range(tries):
            reply = post(batch)
            if reply["status"] < _INPUT_ERROR:
                return reply
            if reply["status"] < _SERVER_ERROR:
                raise ValueError
        raise ConnectionError

    return _all_batches(texts, post, size, tries, ask)


def tried_without_end(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """There is no end to your tries: a service that is gone would keep you waiting for ever."""
    return embed_with_service(texts, post, size, _NEVER)


def one_try_too_many(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The service is asked once more than allowed: the first request is a try as well."""
    return embed_with_service(texts, post, size, tries + 1)


def tries_shared(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """All batches share their tries: each batch has as many as the first."""
    left = tries
    vectors: Vectors = []
    for batch in _batches(texts, size):
        reply = {"status": _SERVER_ERROR}
        while reply["status"] >= _SERVER_ERROR:
            if left == 0:
                raise ConnectionError
            reply = _tried(batch, post)
            left -= reply["status"] >= _SERVER_ERROR
        if reply["status"] >= _INPUT_ERROR:
            raise ValueError
        vectors += _in_order(reply)
    return vectors


def begun_again(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """After a failure you begin again with the first batch: ask only for the one that failed."""
    for number in range(tries):
        try:
            return _all_batches(texts, post, size, 1)
        except ConnectionError:
            if number == tries - 1:
                raise
    return []


def half_returned(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """What came before a failure is returned: nobody can tell it from the vectors of all texts."""
    vectors: Vectors = []
    for batch in _batches(texts, size):
        try:
            vectors += _in_order(_asked(batch, post, tries))
        except ConnectionError:
            break
    return vectors


def all_at_once(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """All texts go in one request: the service takes at most `size` of them."""
    return embed_with_service(texts, post, max(size, len(texts)), tries)


def nothing_sent(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """A request without texts is sent: for an empty list there is nothing to ask."""
    vectors: Vectors = []
    for batch in _batches(texts, size) or [[]]:
        vectors += _in_order(_asked(batch, post, tries))
    return vectors


_WORDS = ("alpha", "be", "gammas", "d", "epsilon", "zeta", "eta")


def _hidden_requests(random: Random) -> Iterator[Arguments]:
    texts = list(_WORDS)
    yield [], 2, 2, []
    yield texts[:5], 2, 2, []
    yield texts[:4], 2, 3, [200, 503, TIMED_OUT]
    yield texts[:3], 3, 2, [500, 503, 500, 500]
    yield texts[:3], 1, 2, [503, 200, 503, 200, 503]
    yield texts[:4], 2, 3, [200, 422]
    yield texts[:4], 2, 3, [400]
    yield texts[:5], 2, 2, [200, TIMED_OUT, 502, 200]
    yield texts[:2], 2, 4, [413, 200]
    for _ in range(22):
        chosen = random.sample(texts, random.randint(2, 7))
        tries = random.randint(1, 3)
        trouble = [200, 200, 503, 500, TIMED_OUT, TIMED_OUT, random.choice([200, 422, 400])]
        faults = [random.choice(trouble) for _ in range(random.randint(0, 6))]
        yield chosen, random.randint(1, 3), tries, faults


def _any_requests() -> Strategy:
    faults = st.lists(st.sampled_from([200, 503, TIMED_OUT, 422, 400]), min_size=4, max_size=4)
    return st.tuples(
        st.integers(0, 5), st.integers(1, 3), st.integers(1, 3), st.integers(0, 4), faults
    ).map(lambda drawn: (list(_WORDS[: drawn[0]]), drawn[1], drawn[2], drawn[4][: drawn[3]]))


def _request_written(arguments: Arguments) -> str:
    texts, size, tries, faults = arguments
    told = ", ".join("time-out" if status == TIMED_OUT else str(status) for status in faults)
    return f"embed_with_service({texts}, post, {size}, {tries}), replies: {told or 'all'} 200"


EXERCISE = Exercise(
    text=__doc__,
    model_solution=embed_with_service,
    reference=embed_with_service,
    cases=(
        Case((["a", "bb", "ccc"], 2, 1, []), "two batches; the items are out of order"),
        Case((["a", "bb"], 1, 2, [503]), "the first request fails, its second try does not"),
        Case((["a", "bb"], 1, 2, [200, TIMED_OUT, 500]), "a batch fails as often as it may"),
        Case((["a", "bb"], 2, 3, [422]), "the texts are at fault"),
        Case(([], 2, 3, []), "nothing to ask"),
    ),
    hidden=_hidden_requests,
    strategy=_any_requests,
    hints=(
        "Three loops stand inside one another: over batches, over tries, over the items of a "
        "reply. Write a function for one batch first.",
        "What can come of one request? Three things: vectors, your fault, its fault. Each has its "
        "own way on: go on, raise, ask again.",
        "`for _ in range(tries):` with a `return` inside; what stands below the loop is reached "
        "only if no try worked.",
        "`sorted(reply['vectors'], key=lambda item: item['index'])` puts the items in order, one "
        "batch at a time.",
    ),
    mistakes=mistakes_of(__name__),
    off_limits=(
        "labkit.embedding",
        "labkit.service",
    ),
    place=4,
    points=8,
    minutes=35,
    transfer=True,
    scenario=served,
    written=_request_written,
)
