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
from contextlib import suppress
from random import Random
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.runtime.scenarios import TIMED_OUT, served

Vectors: TypeAlias = list[list[float]]
Reply: TypeAlias = dict[str, Any]  # status, vectors: a list of {"index", "vector"}
Post: TypeAlias = Callable[[list[str]], Reply]


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


def order_of_arrival(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The vectors are taken as they arrive: each belongs to the text that its index names."""

    def as_they_came(batch: list[str]) -> Reply:
        reply = post(batch)
        vectors = [{**item, "index": place} for place, item in enumerate(reply["vectors"])]
        return {**reply, "vectors": vectors}

    return embed_with_service(texts, as_they_came, size, tries)


def index_of_all_texts(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The index is taken for a place among all texts: it counts from 0 in every batch."""
    found: dict[int, list[float]] = {}
    for start in range(0, len(texts), size):
        vectors = embed_with_service(texts[start : start + size], post, size, tries)
        found |= dict(enumerate(vectors))
    return [found[index] for index in sorted(found)]


def input_error_retried(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """An input error is tried again: the same texts will be wrong each time, so raise at once."""
    last = 0

    def failing_for_ever(batch: list[str]) -> Reply:
        nonlocal last
        last = 500
        reply = post(batch)
        last = reply["status"]
        return {**reply, "status": 500 if last >= 400 else last}

    try:
        return embed_with_service(texts, failing_for_ever, size, tries)
    except ConnectionError:
        raise ValueError if last < 500 else ConnectionError from None


def only_422_known(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """Of the input errors only 422 ends the work at once: 400 and 413 are as much your fault."""

    def others_as_failures(batch: list[str]) -> Reply:
        reply = post(batch)
        return {**reply, "status": 500 if reply["status"] in (400, 413) else reply["status"]}

    return embed_with_service(texts, others_as_failures, size, tries)


def no_second_try(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The first failure of the server ends everything: it may work again a moment later."""
    return embed_with_service(texts, post, size, min(tries, 1))


def time_out_let_through(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """A time-out is not caught: it is a failure of the server's like any other, so try again."""

    def uncaught(batch: list[str]) -> Reply:
        try:
            return post(batch)
        except TimeoutError as error:
            raise EOFError from error  # which the model solution does not catch

    try:
        return embed_with_service(texts, uncaught, size, tries)
    except EOFError:
        raise TimeoutError from None


def tried_without_end(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """There is no end to your tries: a service that is gone would keep you waiting for ever."""
    return embed_with_service(texts, post, size, 10**6)


def one_try_too_many(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The service is asked once more than allowed: the first request is a try as well."""
    return embed_with_service(texts, post, size, tries + 1)


def tries_shared(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """All batches share their tries: each batch has as many as the first."""
    vectors: Vectors = []
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        while True:
            if tries == 0:
                raise ConnectionError
            try:
                vectors += embed_with_service(batch, post, size, 1)
                break
            except ConnectionError:
                tries -= 1
    return vectors


def begun_again(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """After a failure you begin again with the first batch: ask only for the one that failed."""
    for _ in range(tries - 1):
        with suppress(ConnectionError):
            return embed_with_service(texts, post, size, 1)
    return embed_with_service(texts, post, size, 1)


def half_returned(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """What came before a failure is returned: nobody can tell it from the vectors of all texts."""
    vectors: Vectors = []
    with suppress(ConnectionError):
        for start in range(0, len(texts), size):
            vectors += embed_with_service(texts[start : start + size], post, size, tries)
    return vectors


def all_at_once(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """All texts go in one request: the service takes at most `size` of them."""
    return embed_with_service(texts, post, max(size, len(texts)), tries)


def nothing_sent(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """A request without texts is sent: for an empty list there is nothing to ask."""
    if texts:
        return embed_with_service(texts, post, size, tries)
    return embed_with_service([""], lambda _: post([]), size, tries)


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
    model_solution=embed_with_service,
    reference=embed_with_service,
    cases=(
        case("two batches; the items are out of order", ["a", "bb", "ccc"], 2, 1, []),
        case("the first request fails, its second try does not", ["a", "bb"], 1, 2, [503]),
        case("a batch fails as often as it may", ["a", "bb"], 1, 2, [200, TIMED_OUT, 500]),
        case("the texts are at fault", ["a", "bb"], 2, 3, [422]),
        case("nothing to ask", [], 2, 3, []),
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
    off_limits=("labkit.embedding", "labkit.service"),
    place=4,
    points=8,
    minutes=35,
    transfer=True,
    scenario=served,
    written=_request_written,
)
