"""A labkit and a classroom that have nothing in them: calling anything of them is noticed.

What an exercise lends stands in its place; `classroom` has the functions of a lesson, which do
nothing here, so that a notebook's own checks do not stop it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = ("labkit", "classroom")
_LEARNER = """
def _nothing(*arguments, **options):
    return None


def carry_on(name, function):
    return function


check = verdict = hint = reveal = progress = predict = compare = quiz = passes = _nothing
"""


class DelegatedError(Exception):
    """A learner's code called labkit's own function."""


class Nothing:
    """A name of labkit's that stands for nothing. Calling it is noted in `called`."""

    def __init__(self, name: str, called: list[str]) -> None:
        self._name, self._called = name, called

    def __call__(self, *_: Any, **__: Any) -> Any:
        self._called.append(self._name)
        raise DelegatedError(f"{self._name} is not there when exercises are graded")

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(f"{self._name}.{name}", self._called)


class ImportStub(MetaPathFinder, Loader):
    """Finds every module of both packages; `called` lists what was called of it."""

    def __init__(self, lent: Mapping[str, Any]) -> None:
        self._lent = lent
        self.called: list[str] = []

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in ("classroom", "classroom.learner"):
            exec(_LEARNER, module.__dict__)  # noqa: S102 - a fixed text

        def attribute(attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            dotted = f"{name}.{attribute}"
            return self._lent.get(dotted) or Nothing(dotted, self.called)

        module.__dict__["__getattr__"] = attribute


def set_import_stub(lent: Mapping[str, Any], modules: Sequence[str] = ()) -> ImportStub:
    """Put the stub in the place of both packages; `modules` are forgotten, as if never imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in (*PACKAGES, *modules)]:
        del sys.modules[name]
    stub = ImportStub(lent)
    sys.meta_path.insert(0, stub)
    return stub
