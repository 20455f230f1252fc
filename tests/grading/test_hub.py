"""A class on JupyterHub, as `deploy/jupyterhub/` describes it: a real hub, a real proxy, one
instructor, two students, one assignment from release to feedback.

As root, the test makes three accounts of the system, so that the permissions of files are the real
ones, and removes them afterwards. Without root (or where others cannot reach this Python) all
servers run under one account; then nothing keeps people apart, and the tests that ask for it are
skipped.
"""

from __future__ import annotations

import csv
import json
import os
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import psutil
import pytest
import requests
import yaml

from classroom.exercises import ALL

pytest.importorskip("jupyterhub", reason="the extra `hub` is not installed")
websocket = pytest.importorskip("websocket")

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "jupyterhub"
COURSE, ASSIGNMENT, NOTEBOOK = "labkit", "ps02_chunking", "chunking.ipynb"
SOON, PATIENT = 30, 120  # seconds: for an answer of the hub; for a server or a command

slow = pytest.mark.slow


# --- Accounts and interpreter --------------------------------------------------------------------


@dataclass(frozen=True)
class Account:
    """A person. `system` says that the operating system knows them too."""

    name: str
    home: Path
    system: bool

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command as this person, in their home."""
        who: dict[str, Any] = {"user": self.name, "group": self.name, "extra_groups": []}
        return subprocess.run(
            words,
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=PATIENT,
            check=False,
            **(who if self.system else {}),
        )


def system_account(name: str, homes: Path) -> Account | None:
    """A new account with a home that is closed to others; None if the system refuses."""
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("useradd"):
        return None
    made = subprocess.run(
        ["useradd", "--create-home", "--home-dir", str(homes / name), "-K", "HOME_MODE=0700", name],
        capture_output=True,
        timeout=SOON,
        check=False,
    )
    return Account(name, homes / name, system=True) if made.returncode == 0 else None


def remove_account(name: str) -> None:
    """End what the account still runs, and remove it. Its home goes with the class's folder."""
    for process in psutil.process_iter(["username"]):
        if process.info["username"] == name:
            process.kill()
    subprocess.run(["userdel", name], capture_output=True, timeout=SOON, check=True)


def usable(python: Path, account: Account) -> bool:
    """Can this person run this interpreter, and does it know the lab?"""
    try:
        return account.command(str(python), "-c", "import labkit, jupyterhub").returncode == 0
    except OSError:
        return False


def copied_environment(folder: Path) -> Path:
    """This environment once more, around a copy of its interpreter: for a Python that lies in a
    home closed to others. Its packages are the same files."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base, library = folder / "py", Path(sysconfig.get_path("stdlib"))
    left_out = shutil.ignore_patterns("site-packages", "test", "config-*", "idlelib")
    shutil.copytree(library, base / "lib" / version, ignore=left_out)
    (base / "bin").mkdir()
    program = base / "bin" / version
    shutil.copy2(Path(sys.executable).resolve(), program)
    old, new = Path(sys.base_prefix) / "lib", base / "lib"
    shared = old / (sysconfig.get_config_var("INSTSONAME") or "")
    if shared.is_file():
        shutil.copy2(shared, new)
        # Where the program looks for it stands in the program: write the new place over the old.
        before, after = f"{old}\0".encode(), f"{new}\0".encode()
        if len(after) <= len(before):
            patched = program.read_bytes().replace(before, after.ljust(len(before), b"\0"))
            program.write_bytes(patched)
    env, here = folder / "env", Path(sys.prefix)
    (env / "bin").mkdir(parents=True)
    (env / "lib" / version).mkdir(parents=True)
    (env / "pyvenv.cfg").write_text(f"home = {program.parent}\n", "utf-8")
    (env / "bin/python").symlink_to(program)
    (env / "lib" / version / "site-packages").symlink_to(sysconfig.get_path("purelib"))
    for name in ("share", "etc"):
        if (here / name).exists():
            (env / name).symlink_to(here / name)
    alembic = env / "bin/alembic"
    alembic.write_text(f"#!{env}/bin/python\nfrom alembic.config import main\nmain()\n", "utf-8")
    alembic.chmod(0o755)
    return env / "bin/python"


def python_for(accounts: list[Account], folder: Path) -> Path | None:
    """An interpreter that everyone can run: this one, or a copy; None if neither will do."""
    own = Path(sys.executable)
    if all(usable(own, account) for account in accounts):
        return own
    copy = copied_environment(folder)
    return copy if all(usable(copy, account) for account in accounts) else None


# --- A person's server ---------------------------------------------------------------------------


@dataclass
class Seat:
    """A person at their own server: what is run here is run by them, in their kernel."""

    account: Account
    url: str
    headers: dict[str, str]
    kernel: Any = None
    session: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def name(self) -> str:
        return self.account.name

    def get(self, path: str) -> requests.Response:
        return requests.get(f"{self.url}{path}", headers=self.headers, timeout=SOON)

    def run(self, code: str) -> str:
        """What the code prints. An exception in it fails the test."""
        if self.kernel is None:
            self.kernel = self._connect()
        message = {
            "header": {
                "msg_id": secrets.token_hex(8),
                "msg_type": "execute_request",
                "username": self.name,
                "session": self.session,
                "version": "5.3",
            },
            "parent_header": {},
            "metadata": {},
            "content": {"code": code, "silent": False, "allow_stdin": False},
            "channel": "shell",
        }
        self.kernel.send(json.dumps(message))
        return self._printed(message["header"]["msg_id"])

    def _connect(self) -> Any:
        made = requests.post(f"{self.url}api/kernels", headers=self.headers, timeout=SOON)
        made.raise_for_status()
        address = self.url.replace("http:", "ws:", 1)
        return websocket.create_connection(
            f"{address}api/kernels/{made.json()['id']}/channels?session_id={self.session}",
            header=self.headers,
            timeout=PATIENT,
        )

    def _printed(self, request: str) -> str:
        """What is printed until the kernel says that it is idle again."""
        printed = ""
        while True:
            reply = json.loads(self.kernel.recv())
            if reply["parent_header"].get("msg_id") != request:
                continue
            content = reply["content"]
            if reply["msg_type"] == "stream":
                printed += content["text"]
            elif reply["msg_type"] == "error":
                pytest.fail(f"{self.name}: {content['ename']}: {content['evalue']}")
            elif reply["msg_type"] == "status" and content["execution_state"] == "idle":
                return printed

    def command(self, *words: str, folder: str = "~") -> subprocess.CompletedProcess[str]:
        """Run a program from the kernel. `python` is the server's own."""
        code = f"""
import json, os, subprocess, sys
words = [sys.executable if word == "python" else word for word in {list(words)!r}]
done = subprocess.run(words, cwd=os.path.expanduser({folder!r}), capture_output=True, text=True,
                      stdin=subprocess.DEVNULL, timeout={PATIENT})
print(json.dumps([done.returncode, done.stdout, done.stderr]))
"""
        code, out, err = json.loads(self.run(code))
        return subprocess.CompletedProcess(words, code, out, err)

    def nbgrader(self, *words: str, folder: str = "~") -> str:
        """Run an nbgrader command, which must succeed."""
        if words[0] == "submit" and not self.account.system:
            words = (*words, f"--student={self.name}")  # else the one account's name is taken
        done = self.command("python", "-m", "nbgrader", *words, folder=folder)
        assert done.returncode == 0, f"{self.name}: nbgrader {words[0]}: {done.stderr[-1500:]}"
        return done.stderr

    def attempt(self, code: str) -> str:
        """What the code prints, or the name of the OSError that it raises."""
        body = "\n".join(f"    {line}" for line in code.splitlines())
        tried = f"import os\ntry:\n{body}\nexcept OSError as error:\n    "
        return self.run(f"{tried}print(type(error).__name__)").strip()


# --- The hub -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Classroom:
    """A running hub and the people of a class."""

    folder: Path
    url: str
    robot: dict[str, str]
    pid: int
    real_accounts: bool
    instructor: Seat
    first: Seat
    second: Seat

    @property
    def exchange(self) -> Path:
        return self.folder / "exchange"

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        """The hub's own API, as the robot that may administer it."""
        address = f"{self.url}hub/api/{path}"
        return requests.request(method, address, headers=self.robot, timeout=SOON, **more)


def proxy_program() -> str:
    """The proxy: from PATH, or from where `.ci/run` puts it."""
    local = ROOT / ".labkit/hub/node_modules/.bin/configurable-http-proxy"
    places = [os.environ.get("LABKIT_HUB_PROXY"), "configurable-http-proxy", str(local)]
    found = next((path for name in places if name and (path := shutil.which(name))), None)
    if not (found and shutil.which("node")):
        pytest.skip(
            "no configurable-http-proxy here: "
            "npm install --prefix .labkit/hub configurable-http-proxy (needs node)"
        )
    return found


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


def wait_until(happened: Callable[[], bool], what: str, seconds: float = PATIENT) -> None:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {seconds:g} s")
        time.sleep(0.2)


def configuration(folder: Path, token: str, as_root: bool) -> Path:
    """The deployed configuration, and what only a test needs: a robot that may administer."""
    path, homes = folder / "test_config.py", str(folder / "home")
    scopes = ["admin:users", "admin:servers", "tokens"]
    path.write_text(
        f"load_subconfig({str(folder / 'deploy/jupyterhub_config.py')!r})\n"
        f"c.JupyterHub.services = [dict(name='robot', api_token={token!r})]\n"
        f"c.JupyterHub.load_roles = [dict(name='robot', services=['robot'], scopes={scopes!r})]\n"
        f"c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + '/{{username}}'\n"
        "c.LocalProcessSpawner.interrupt_timeout = 5\n"
        # Only where a root that can make no accounts runs all servers itself.
        f"c.Spawner.args = {['--allow-root'] if as_root else []!r}\n",
        "utf-8",
    )
    path.chmod(0o600)
    return path


def stop(hub: subprocess.Popen[bytes]) -> None:
    """End the hub, its proxy, the servers and their kernels."""
    own = psutil.Process(hub.pid).children(recursive=True) if hub.poll() is None else []
    hub.terminate()
    try:
        hub.wait(SOON)
    except subprocess.TimeoutExpired:
        hub.kill()
        hub.wait(SOON)
    for process in own:
        if process.is_running():  # the same process: psutil compares the time it began
            process.kill()
    psutil.wait_procs(own, timeout=5)


def take_seat(url: str, robot: dict[str, str], account: Account) -> Seat:
    """Ask for a person's token and start their server, without waiting for it."""
    api = f"{url}hub/api/users/{account.name}"
    made = requests.post(f"{api}/tokens", headers=robot, json={}, timeout=SOON)
    made.raise_for_status()
    headers = {"Authorization": f"token {made.json()['token']}"}
    requests.post(f"{api}/server", headers=headers, timeout=SOON).raise_for_status()
    return Seat(account, f"{url}user/{account.name}/", headers)


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def people(folder: Path, stack: ExitStack) -> tuple[list[Account], Path, bool]:
    """Three people, the interpreter of their servers, and whether the system tells them apart."""
    token = secrets.token_hex(3)
    names = [f"lab{token}{end}" for end in ("lead", "amel", "bo")]
    found: list[Account] = []
    for name in names:
        if account := system_account(name, folder / "home"):
            stack.callback(remove_account, name)
            found.append(account)
    python = python_for(found, folder) if len(found) == len(names) else None
    if python is not None:
        return found, python, True
    shared = [Account(name, folder / "home" / name, system=False) for name in names]
    for account in shared:
        account.home.mkdir(exist_ok=True)
    return shared, Path(sys.executable), False


def give_course(account: Account) -> None:
    """The instructor's course folder, closed to others, as the recipe says."""
    course = account.home / "course"
    shutil.copytree(ROOT / "solutions" / ASSIGNMENT, course / "solutions" / ASSIGNMENT)
    course.chmod(0o700)
    if account.system:
        for path in [course, *course.rglob("*")]:
            shutil.chown(path, account.name, account.name)


@pytest.fixture(scope="module")
def classroom() -> Iterator[Classroom]:
    proxy = proxy_program()
    with ExitStack() as stack:
        # Not in /tmp, which the grader's sandbox puts a folder of its own over.
        place = tempfile.TemporaryDirectory(prefix="hub-", dir="/var/tmp")
        folder = Path(stack.enter_context(place))
        folder.chmod(0o755)
        (folder / "home").mkdir()
        (folder / "exchange").mkdir()
        (folder / "exchange").chmod(0o1777)
        shutil.copytree(DEPLOY, folder / "deploy")
        accounts, python, real = people(folder, stack)
        give_course(accounts[0])
        port, hub_port, api_port = free_ports(3)
        robot = {"Authorization": f"token {(token := secrets.token_hex(16))}"}
        settings = {
            "BIND": f"http://127.0.0.1:{port}",
            "HUB_PORT": str(hub_port),
            "PROXY_API_PORT": str(api_port),
            "PROXY": proxy,
            "STATE": str(folder / "state"),
            "EXCHANGE": str(folder / "exchange"),
            "INSTRUCTORS": accounts[0].name,
            "STUDENTS": f"{accounts[1].name}, {accounts[2].name}",
            "AUTHENTICATOR": "dummy",
            "SPAWNER": "localprocess" if real else "simple",
            "PYTHON": str(python),
        }
        environment = dict(os.environ) | {f"LABKIT_HUB_{k}": v for k, v in settings.items()}
        config = configuration(folder, token, as_root=not real and os.geteuid() == 0)
        log = stack.enter_context((folder / "hub.log").open("wb"))
        hub = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(config)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        stack.callback(stop, hub)
        url = f"http://127.0.0.1:{port}/"
        try:
            wait_until(lambda: hub.poll() is not None or answers(f"{url}hub/api/"), "the hub")
            seats = [take_seat(url, robot, account) for account in accounts]
            for seat in seats:
                wait_until(lambda seat=seat: seat.get("api/status").ok, f"{seat.name}'s server")
            yield Classroom(folder, url, robot, hub.pid, real, *seats)
        except BaseException:
            sys.stderr.write((folder / "hub.log").read_text("utf-8", "replace")[-4000:])
            raise


# --- The course of an assignment, one step a fixture ---------------------------------------------


def solutions(*exercises: str) -> dict[str, str]:
    return {name: ALL[name].solution for name in exercises}


def marks_in(database: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Score and maximum of every graded cell, by student and cell, from nbgrader's gradebook."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{database}", COURSE) as book:
        return {
            (submission.student.id, grade.name): (grade.score, grade.max_score)
            for submission in book.assignment_submissions(ASSIGNMENT)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def write_answers(seat: Seat, answers: dict[str, str]) -> None:
    """Write answers into the fetched notebook, from the person's own kernel."""
    seat.run(f"""
import nbformat, os
answers = {answers!r}
path = os.path.expanduser("~/{ASSIGNMENT}/{NOTEBOOK}")
notebook = nbformat.read(path, as_version=4)
for cell in notebook.cells:
    mark = cell.metadata.get("nbgrader", dict())
    if mark.get("solution") and mark["grade_id"] in answers:
        cell.source = answers.pop(mark["grade_id"])
assert not answers, answers
nbformat.write(notebook, path)
""")


NO_OVERLAP = """
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError("size must be above 0 and overlap from 0 to below size")
    return [text[start : start + size] for start in range(0, len(text), size)]
"""


@pytest.fixture(scope="module")
def released(classroom: Classroom) -> Classroom:
    classroom.instructor.nbgrader("generate_assignment", ASSIGNMENT, "--create", folder="~/course")
    classroom.instructor.nbgrader("release_assignment", ASSIGNMENT, folder="~/course")
    return classroom


@pytest.fixture(scope="module")
def submitted(released: Classroom) -> Classroom:
    """The first student answers everything; the second makes a known mistake in one task, gets the
    next one right and leaves the last."""
    work = [
        (released.first, solutions("chunk_text", "chunk_offsets", "sentence_windows")),
        (released.second, {"chunk_text": NO_OVERLAP, **solutions("chunk_offsets")}),
    ]

    def hand_in(seat: Seat, answers: dict[str, str]) -> None:
        seat.nbgrader("fetch_assignment", ASSIGNMENT)
        write_answers(seat, answers)
        seat.nbgrader("submit", ASSIGNMENT)

    with ThreadPoolExecutor() as both:
        list(both.map(lambda pair: hand_in(*pair), work))
    return released


@pytest.fixture(scope="module")
def collected(submitted: Classroom) -> Classroom:
    submitted.instructor.nbgrader("collect", ASSIGNMENT, folder="~/course")
    return submitted


@pytest.fixture(scope="module")
def graded(collected: Classroom) -> Classroom:
    collected.instructor.nbgrader("autograde", ASSIGNMENT, folder="~/course")
    return collected


@pytest.fixture(scope="module")
def returned(graded: Classroom) -> Classroom:
    graded.instructor.nbgrader("generate_feedback", ASSIGNMENT, folder="~/course")
    graded.instructor.nbgrader("release_feedback", ASSIGNMENT, folder="~/course")
    graded.first.nbgrader("fetch_feedback", ASSIGNMENT)
    return graded


@pytest.fixture
def apart(classroom: Classroom) -> None:
    """For tests that ask the operating system to keep people apart."""
    if not classroom.real_accounts:
        pytest.skip("all servers run under one account here: only root can make accounts")


# --- The hub itself ------------------------------------------------------------------------------


@slow
def test_everything_listens_on_loopback_alone(classroom: Classroom) -> None:
    hub = psutil.Process(classroom.pid)
    listening = [
        connection.laddr.ip
        for process in [hub, *hub.children(recursive=True)]
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 6  # hub, proxy (two), three servers
    assert set(listening) <= {"127.0.0.1", "::1"}


@slow
def test_the_hubs_secrets_are_its_own(classroom: Classroom) -> None:
    state = classroom.folder / "state"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    for name in ("cookie_secret", "proxy_token"):
        assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
        assert len((state / name).read_text("utf-8").strip()) == 64


@slow
def test_the_named_come_in_and_nobody_else(classroom: Classroom) -> None:
    def status(name: str) -> int:
        session = requests.Session()
        session.get(f"{classroom.url}hub/login", timeout=SOON)
        form = {"username": name, "password": "any", "_xsrf": session.cookies["_xsrf"]}
        return session.post(f"{classroom.url}hub/login", data=form, timeout=SOON).status_code

    assert status(classroom.first.name) == 200
    assert status("stranger") == 403


@slow
def test_a_student_reaches_nobody_elses_server(classroom: Classroom) -> None:
    assert classroom.first.get("api/contents").status_code == 200
    for other in (classroom.second, classroom.instructor):
        trespass = requests.get(
            f"{other.url}api/contents", headers=classroom.first.headers, timeout=SOON
        )
        assert trespass.status_code in {403, 404}
    users = f"{classroom.url}hub/api/users"
    seen = requests.get(users, headers=classroom.first.headers, timeout=SOON)
    assert seen.status_code == 403


@slow
def test_each_server_runs_as_its_person(classroom: Classroom, apart: None) -> None:
    for seat in (classroom.instructor, classroom.first, classroom.second):
        assert seat.run("import getpass, os; print(getpass.getuser())").strip() == seat.name
        assert seat.run("print(os.geteuid())").strip() != "0"


@slow
def test_nbgraders_extension_works_in_each_server(released: Classroom) -> None:
    for seat in (released.instructor, released.first):
        assert seat.get("courses").json() == {"success": True, "value": [COURSE]}
        assignments = seat.get(f"assignments?course_id={COURSE}").json()["value"]
        assert [found["assignment_id"] for found in assignments] == [ASSIGNMENT]
    assert released.instructor.get("formgrader").status_code == 200


# --- An assignment, from release to marks --------------------------------------------------------


@slow
def test_what_is_released_holds_no_solution(released: Classroom) -> None:
    path = released.exchange / COURSE / "outbound" / ASSIGNMENT / NOTEBOOK
    cells = nbformat.read(path, as_version=4).cells
    starters = [c.source for c in cells if c.metadata.get("nbgrader", {}).get("solution")]
    assert len(starters) == 3
    assert all(source.endswith("raise NotImplementedError") for source in starters)
    assert "SOLUTION" not in path.read_text("utf-8")


@slow
def test_the_instructor_collects_what_each_student_submitted(collected: Classroom) -> None:
    folder = collected.instructor.account.home / "course/submitted"
    names = {collected.first.name, collected.second.name}
    assert {path.name for path in folder.iterdir()} == names
    right, mistaken = (
        (folder / seat.name / ASSIGNMENT / NOTEBOOK).read_text("utf-8")
        for seat in (collected.first, collected.second)
    )
    assert "start += size - overlap" in right
    assert "range(0, len(text), size)" in mistaken
    assert "range(0, len(text), size)" not in right


@slow
def test_nbgrader_gives_the_marks_that_the_work_deserves(graded: Classroom) -> None:
    database = graded.instructor.account.home / "course/gradebook.db"
    assert marks_in(database) == {
        (graded.first.name, "chunk_text-test"): (6, 6),
        (graded.first.name, "chunk_offsets-test"): (4, 4),
        (graded.first.name, "sentence_windows-test"): (6, 6),
        (graded.second.name, "chunk_text-test"): (0, 6),
        (graded.second.name, "chunk_offsets-test"): (4, 4),
        (graded.second.name, "sentence_windows-test"): (0, 6),
    }


@slow
def test_feedback_comes_back_to_its_student(returned: Classroom) -> None:
    pages = list((returned.first.account.home / ASSIGNMENT / "feedback").rglob("*.html"))
    assert len(pages) == 1
    assert "16.0 / 16.0" in pages[0].read_text("utf-8")


@slow
def test_labkit_grades_what_was_collected(collected: Classroom) -> None:
    """The way that `docs/instructor.md` recommends: in the sandbox, with points in parts."""
    folder = collected.instructor.account.home / "course"
    fence = ["bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "true"]
    if not shutil.which("bwrap") or collected.instructor.command(*fence).returncode:
        pytest.skip("bubblewrap does not work here for the instructor's account")
    # --- the one place where `labkit grade` is called ---
    key = str(folder / "signing.key")
    words = ["grade", "submitted", "--out", "results", "--key", key, "--new-key"]
    done = collected.instructor.command("python", "-m", "labkit", *words, folder="~/course")
    assert done.returncode == 0, done.stderr[-1500:]
    with (folder / "results/marks.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    full = {"chunk_text": 6, "chunk_offsets": 4, "sentence_windows": 6}
    for exercise, points in full.items():
        row = rows[collected.first.name, exercise]
        assert (row["assignment"], row["outcome"]) == (ASSIGNMENT, "right")
        assert float(row["score"]) == float(row["max_score"]) == points
    second = {exercise: rows[collected.second.name, exercise] for exercise in full}
    outcomes = [second[exercise]["outcome"] for exercise in full]
    assert outcomes == ["wrong", "right", "not attempted"]
    assert float(second["chunk_text"]["score"]) < 6
    assert float(second["chunk_offsets"]["score"]) == 4
    assert float(second["sentence_windows"]["score"]) == 0


# --- Who sees what -------------------------------------------------------------------------------


@slow
def test_students_cannot_look_into_other_homes(submitted: Classroom, apart: None) -> None:
    for other in (submitted.instructor, submitted.second):
        look = f"print(os.listdir({str(other.account.home)!r}))"
        assert submitted.first.attempt(look) == "PermissionError"
    solutions = submitted.instructor.account.home / "course/solutions" / ASSIGNMENT / NOTEBOOK
    assert submitted.first.attempt(f"print(open({str(solutions)!r}).read())") == "PermissionError"
    assert (
        submitted.instructor.attempt(f"print(len(open({str(solutions)!r}).read()) > 0)") == "True"
    )


@slow
def test_students_cannot_list_what_others_submitted(submitted: Classroom, apart: None) -> None:
    inbound = submitted.exchange / COURSE / "inbound"
    look = f"print(len(os.listdir({str(inbound)!r})))"
    assert submitted.second.attempt(look) == "PermissionError"
    assert submitted.instructor.attempt(look) == "2"


@slow
def test_a_submission_is_kept_from_others_by_its_name_alone(
    submitted: Classroom, apart: None
) -> None:
    """What the README says: the name has 72 random bits; whoever knows it may read the files."""
    inbound = submitted.exchange / COURSE / "inbound"
    [place] = inbound.glob(f"{submitted.first.name}+*")
    assert len(place.name.split("+")[-1]) == 12
    read = f"print(len(open({str(place / NOTEBOOK)!r}).read()) > 0)"
    assert submitted.second.attempt(read) == "True"


@slow
def test_students_cannot_change_what_was_released(submitted: Classroom, apart: None) -> None:
    outbound = submitted.exchange / COURSE / "outbound" / ASSIGNMENT
    change = f"open({str(outbound / NOTEBOOK)!r}, 'a').close()"
    assert submitted.first.attempt(change) == "PermissionError"
    assert submitted.first.attempt(f"os.rmdir({str(outbound)!r})") == "PermissionError"


@slow
def test_students_cannot_move_the_course_away(submitted: Classroom, apart: None) -> None:
    """The exchange is writable for all; its sticky bit, which nbgrader leaves alone, holds."""
    assert stat.S_IMODE(submitted.exchange.stat().st_mode) == 0o1777
    course = submitted.exchange / COURSE
    move = f"os.rename({str(course)!r}, {str(course.with_name('gone'))!r})"
    assert submitted.first.attempt(move) == "PermissionError"


@slow
def test_students_cannot_read_the_hubs_secrets(classroom: Classroom, apart: None) -> None:
    look = f"print(os.listdir({str(classroom.folder / 'state')!r}))"
    assert classroom.first.attempt(look) == "PermissionError"


@slow
def test_others_feedback_stays_hidden(returned: Classroom, apart: None) -> None:
    feedback = returned.exchange / COURSE / "feedback"
    assert returned.second.attempt(f"os.listdir({str(feedback)!r})") == "PermissionError"


# --- The configuration, without a hub ------------------------------------------------------------


def configured(tmp_path: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """What JupyterHub makes of the configuration and these LABKIT_HUB_ settings."""
    program = (
        "import json, sys; from traitlets.config import PyFileConfigLoader as Loader; "
        f"c = Loader('jupyterhub_config.py', path={str(DEPLOY)!r}).load_config(); "
        "print(json.dumps(c, default=sorted))"
    )
    chosen = {"STATE": str(tmp_path / "state"), **settings}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LABKIT_HUB_")}
    environment |= {f"LABKIT_HUB_{key}": value for key, value in chosen.items()}
    words = [sys.executable, "-c", program]
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=SOON, check=False
    )


def test_unless_told_otherwise_it_is_safe(tmp_path: Path) -> None:
    done = configured(tmp_path)
    assert done.returncode == 0, done.stderr
    c = json.loads(done.stdout)
    assert c["JupyterHub"]["bind_url"] == "http://127.0.0.1:8000"
    assert c["JupyterHub"]["authenticator_class"] == "pam"
    assert c["JupyterHub"]["spawner_class"] == "localprocess"
    assert c["Authenticator"] == {
        "allowed_users": [],
        "admin_users": [],
        "allow_all": False,
        "allow_existing_users": False,
    }


def test_the_proxys_token_is_the_same_at_the_next_start(tmp_path: Path) -> None:
    first, second = (
        json.loads(configured(tmp_path).stdout)["ConfigurableHTTPProxy"]["auth_token"]
        for _ in range(2)
    )
    assert first == second
    assert len(first) == 64
    other = json.loads(configured(tmp_path / "other").stdout)
    assert other["ConfigurableHTTPProxy"]["auth_token"] != first


@pytest.mark.parametrize("chosen", [{"AUTHENTICATOR": "dummy"}, {"SPAWNER": "simple"}])
def test_what_is_for_tests_is_refused_where_others_can_reach_it(
    tmp_path: Path, chosen: dict[str, str]
) -> None:
    done = configured(tmp_path, BIND="http://0.0.0.0:8000", **chosen)
    assert done.returncode != 0
    assert "That is for tests on loopback" in done.stderr
    assert configured(tmp_path, **chosen).returncode == 0


def test_nobody_is_instructor_and_student(tmp_path: Path) -> None:
    done = configured(tmp_path, INSTRUCTORS="ada bo", STUDENTS="bo, cy")
    assert done.returncode != 0
    assert "Both instructor and student: bo." in done.stderr


def test_servers_are_stopped_when_idle_only_if_asked(tmp_path: Path) -> None:
    assert "services" not in json.loads(configured(tmp_path).stdout)["JupyterHub"]
    c = json.loads(configured(tmp_path, IDLE_SECONDS="1800").stdout)["JupyterHub"]
    assert "--timeout=1800" in c["services"][0]["command"]
    assert c["load_roles"][0]["services"] == ["idle-culler"]


def test_the_readme_lists_every_setting() -> None:
    source = (DEPLOY / "jupyterhub_config.py").read_text("utf-8")
    asked = set(re.findall(r"(?:setting|names)\(['\"]([A-Z_]+)", source))
    table = (DEPLOY / "README.md").read_text("utf-8").split("### Settings")[1].split("\n\n")[1]
    listed = {
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r"`([A-Z_]+)`", row.split("|")[1])
    }
    assert listed == asked
    assert len(asked) > 10


# --- Values for Kubernetes -----------------------------------------------------------------------

# Keys of the chart "Zero to JupyterHub", read in its values.yaml and values.schema.yaml. At a `*`
# the chart takes anything.
CHART = set(
    """
    hub.config.* hub.concurrentSpawnLimit hub.activeServerLimit hub.extraConfig.*
    proxy.service.type proxy.https.enabled proxy.https.hosts proxy.https.letsencrypt.contactEmail
    singleuser.image.name singleuser.image.tag singleuser.defaultUrl
    singleuser.cpu.guarantee singleuser.cpu.limit singleuser.memory.guarantee
    singleuser.memory.limit singleuser.storage.type singleuser.storage.capacity
    singleuser.storage.extraVolumes.* singleuser.storage.extraVolumeMounts.*
    singleuser.cloudMetadata.blockWithIptables singleuser.networkPolicy.enabled
    singleuser.networkPolicy.egressAllowRules.cloudMetadataServer
    singleuser.networkPolicy.egressAllowRules.privateIPs
    singleuser.networkPolicy.egressAllowRules.nonPrivateIPs
    singleuser.allowPrivilegeEscalation scheduling.userScheduler.enabled
    scheduling.podPriority.enabled scheduling.userPlaceholder.replicas
    prePuller.hook.enabled prePuller.continuous.enabled cull.enabled cull.timeout cull.every
    """.split()
)


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    text = (DEPLOY / "zero-to-jupyterhub/values.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def keys(tree: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, value in tree.items():
        path = f"{above}{name}"
        if f"{path}.*" in CHART:
            yield f"{path}.*"
        elif isinstance(value, dict):
            yield from keys(value, f"{path}.")
        else:
            yield path


def test_the_values_have_keys_of_the_chart_alone(values: dict[str, Any]) -> None:
    assert set(keys(values)) == CHART


def test_the_values_let_in_the_listed_alone(values: dict[str, Any]) -> None:
    config = values["hub"]["config"]
    assert config["JupyterHub"]["authenticator_class"] != "dummy"
    assert config["Authenticator"]["allowed_users"]
    assert config["Authenticator"]["allow_existing_users"] is False


def test_a_student_sees_one_folder_and_the_instructor_all(values: dict[str, Any]) -> None:
    """The hook of the values, run on what KubeSpawner would hand it."""
    storage = values["singleuser"]["storage"]
    [volume] = storage["extraVolumes"].values()
    [mount] = storage["extraVolumeMounts"].values()
    assert volume["name"] == mount["name"]
    assert mount["subPath"] == "{username}"
    c = SimpleNamespace(KubeSpawner=SimpleNamespace())
    exec(values["hub"]["extraConfig"]["instructors"], {"c": c})
    home = {"name": "home", "mountPath": "/home/jovyan", "subPath": None}

    def mounted(user: str) -> dict[str, Any]:
        mounts = {"home": home, "submissions": mount}
        spawner = SimpleNamespace(user=SimpleNamespace(name=user), volume_mounts=mounts)
        c.KubeSpawner.pre_spawn_hook(spawner)
        found: dict[str, Any] = spawner.volume_mounts
        return found

    whole = {"name": "submissions", "mountPath": "/home/jovyan/submitted"}
    assert mounted("INSTRUCTOR") == {"home": home, "submissions": whole}
    assert mounted("STUDENT-1") == {"home": home, "submissions": {**whole, "subPath": "{username}"}}
