"""The bootstrap, run for real in small copies of the lab.

Only the network's edge is fake: a package index on loopback that serves wheels of a few hundred
bytes under the real names. All else — `venv`, pip, locks, signals, files — is the real thing.
"""

import base64
import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LAB = Path(__file__).resolve().parents[1] / "lab"
TORCH = "2.13.0"
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals or shell stubs")

ECHO = """
import json, os, sys
print(json.dumps({"words": sys.argv[1:], "cwd": os.getcwd(), "prefix": sys.prefix}))
"""
JUPYTER = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
if "JUPYTER_BROKEN" in os.environ:
    sys.exit("no server today")
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        right = self.headers["Authorization"] == "token " + os.environ["JUPYTER_TOKEN"]
        self.send_response(200 if right else 403)
        self.end_headers()
print(sys.argv, flush=True)
HTTPServer((given["--ServerApp.ip"], int(given["--ServerApp.port"])), Handler).serve_forever()
"""
LABKIT = """
import json, os, sys
from pathlib import Path
word, built = sys.argv[1], Path(".labkit/built")
if word == "plan":
    print(json.dumps({"changed": not built.exists()}))
elif word == "rebuild":
    built.parent.mkdir(exist_ok=True)
    built.write_text("")
    print("rebuilt")
elif word == "answer":
    sys.exit(3 if "GX-999" in sys.argv[2] else print("[EXPORT#0] Reporting exports CSV."))
else:
    print(json.dumps({"words": sys.argv[1:], "cwd": os.getcwd(), "prefix": sys.prefix}))
    sys.exit(7)
"""
BACKEND = """
import os, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name, info = "labkit-0.1.0-py3-none-any.whl", "labkit-0.1.0.dist-info"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.writestr("labkit.pth", os.getcwd())
        z.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: labkit\\nVersion: 0.1.0\\n")
        z.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        z.writestr(info + "/RECORD", "")
    return name
"""
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "labkit"
version = "0.1.0"
dependencies = ["alpha>=1,<2"]
optional-dependencies.test = ["pytest>=1"]
optional-dependencies.bench = ["alpha", "omega-index>=3"]
"""


def wheel(name: str, version: str, modules: dict[str, str], *needs: str) -> bytes:
    """The bytes of a wheel with these modules."""
    info = f"{name}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = modules | {
        f"{info}/METADATA": head + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        rows.append(f"{path},sha256={digest.decode().rstrip('=')},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


CPU_TORCH = wheel("torch", f"{TORCH}+cpu", {"torch/version.py": "cuda = None\n"})
CUDA_TORCH = wheel("torch", TORCH, {"torch/version.py": "cuda = '13.0'\n"}, "nvidia-fake==1.0")
LOCKED = {
    ("alpha", "1.0"): wheel("alpha", "1.0", {"alpha.py": ""}),
    ("jupyterlab", "4.6"): wheel("jupyterlab", "4.6", {"jupyterlab/__main__.py": JUPYTER}),
    ("pytest", "9.0"): wheel("pytest", "9.0", {"pytest/__main__.py": ECHO}),
}
# Shelves of the index: what a default index, torch's CPU index and an empty one hold.
SHELVES: dict[str, dict[str, bytes]] = {
    "default": {f"{n}-{v}-py3-none-any.whl": data for (n, v), data in LOCKED.items()}
    | {f"torch-{TORCH}-py3-none-any.whl": CUDA_TORCH}
    | {"nvidia_fake-1.0-py3-none-any.whl": wheel("nvidia_fake", "1.0", {"nvidia_fake.py": ""})},
    "cpu": {f"torch-{TORCH}+cpu-py3-none-any.whl": CPU_TORCH},
    "empty": {},
}


def metadata_of(data: bytes) -> bytes:
    """A wheel's METADATA, as an index serves it beside the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return archive.read(name)


class Index(ThreadingHTTPServer):
    """A package index on loopback that notes what is asked of it and can be slow on purpose."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []
        self.slow: dict[str, float] = {}  # part of a path → seconds to wait before answering

    def url(self, shelf: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{shelf}/"


class Handler(BaseHTTPRequestHandler):
    """Pages of the simple index (`/shelf/name/`) and files (`/shelf/file.whl`)."""

    server: Index

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        for part, seconds in self.server.slow.items():
            if part in self.path:
                time.sleep(seconds)
        shelf, _, name = self.path.replace("%2B", "+").strip("/").partition("/")
        files = SHELVES.get(shelf, {})
        if name.endswith(".whl"):
            self.reply(files.get(name))
        elif name.endswith(".metadata"):
            self.reply(metadata_of(files[name.removesuffix(".metadata")]))
        else:
            wanted = name.replace("-", "_") + "-"
            found = [
                f'<a href="/{shelf}/{f.replace("+", "%2B")}" data-core-metadata="true">{f}</a>'
                for f in files
                if f.startswith(wanted)
            ]
            self.reply("<br>".join(found).encode() if found else None)

    def reply(self, body: bytes | None) -> None:
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/html" if body and body[:1] == b"<" else "app/zip")
        self.end_headers()
        with contextlib.suppress(OSError):  # some tests kill the client
            self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        """Say nothing on the terminal."""


@pytest.fixture
def index() -> Iterator[Index]:
    yield from serve()


@pytest.fixture(scope="module")
def lasting_index() -> Iterator[Index]:
    yield from serve()


def serve() -> Iterator[Index]:
    with Index() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def closed_port() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/"


# --- Small copies of the lab ---------------------------------------------------------------------


def bundled_pip() -> str:
    import ensurepip

    return ensurepip.version()


def small_lab(root: Path) -> Path:
    """A folder with `lab`, a tiny labkit and a tiny lock file (with hashes, like the real one)."""
    root.mkdir(parents=True)
    shutil.copy(LAB, root / "lab")
    lines = [f"pip=={bundled_pip()} \\\n    --hash=sha256:{'0' * 64}"]  # already there: not fetched
    for (name, version), data in LOCKED.items():
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(data).hexdigest()}")
    texts = {
        "requirements.lock": "\n".join(lines) + "\n",
        "pyproject.toml": PYPROJECT,
        "backend.py": BACKEND,
        "labkit/__init__.py": "",
        "labkit/__main__.py": LABKIT,
        "notebooks/00_start.ipynb": "lesson 0",
        "notebooks/01_next.ipynb": "lesson 1",
        "notebooks/.ipynb_checkpoints/00_start-checkpoint.ipynb": "not shipped",
        "exercises/01/exercise.ipynb": "exercise",
        "tests/test_one.py": "",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def variables(index: Index, **more: str) -> dict[str, str]:
    """The surroundings of a small lab: our index and nothing of this machine's pip settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "LAB_", "PYTEST_"))}
    ours = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": index.url("default"),
        "PIP_NO_CACHE_DIR": "1",
        "LAB_TORCH_CPU_INDEX": index.url("cpu"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    return kept | ours | more


def run(
    root: Path, *words: str, env: dict[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "lab"), *words]
    return subprocess.run(command, env=env, cwd=cwd or root, capture_output=True, text=True)


def python_of(root: Path) -> Path:
    return root / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def versions(root: Path, env: dict[str, str]) -> dict[str, Any]:
    found = run(root, "doctor", "--json", env=env)
    assert found.returncode == 0, found.stderr
    facts: dict[str, Any] = json.loads(found.stdout)
    return facts


def load(path: Path) -> ModuleType:
    """`lab` as a module, although its name has no suffix."""
    loader = SourceFileLoader("lab_under_test", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def lab(tmp_path: Path) -> ModuleType:
    return load(small_lab(tmp_path / "copy") / "lab")


@pytest.fixture(scope="module")
def ready(
    tmp_path_factory: pytest.TempPathFactory, lasting_index: Index
) -> tuple[Path, dict[str, str], Index]:
    """A small lab after its first run; a blank in its path, as people have them."""
    root = small_lab(tmp_path_factory.mktemp("labs") / "a lab")
    env = variables(lasting_index)
    done = run(root, "hello", env=env)
    assert done.returncode == 7, done.stderr
    for stage in ("1/4", "2/4", "3/4", "4/4"):
        assert stage in done.stderr
    return root, env, lasting_index


Ready = tuple[Path, dict[str, str], Index]


# --- Installing ----------------------------------------------------------------------------------


def test_a_second_run_asks_the_network_nothing_and_is_quick(ready: Ready) -> None:
    root, env, index = ready
    index.requests.clear()
    began = time.monotonic()
    done = run(root, "hello", env=env)
    assert (done.returncode, done.stderr) == (7, "")
    assert index.requests == []
    assert time.monotonic() - began < 1.5


def test_an_old_python_gets_one_sentence(tmp_path: Path) -> None:
    done = as_python_38(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("This is Python 3.8, and the lab needs 3.11, 3.12 or 3.13: ")
    assert done.stderr.count("\n") == 1


@posix
def test_an_old_python_hands_over_to_a_suitable_one_and_skips_a_dead_stub(tmp_path: Path) -> None:
    stub(tmp_path / "python3.11", "echo 'no such version' >&2; exit 127")
    stub(tmp_path / "python3.12", '[ "$1" = -c ] || echo "$@"')
    done = as_python_38(tmp_path)
    assert done.returncode == 0
    assert done.stdout.split() == [str(LAB), "doctor", "--json"]
    assert done.stderr == ""


def as_python_38(path: Path) -> subprocess.CompletedProcess[str]:
    """Run `lab doctor --json` in a Python that says it is 3.8, with only `path` to look in."""
    code = (
        "import sys, os, shutil, subprocess\n"
        f"sys.version_info = (3, 8, 10, 'final', 0)\nsys.argv = ['lab', 'doctor', '--json']\n"
        f"names = {{'__name__': '__main__', '__file__': {str(LAB)!r}}}\n"
        f"exec(compile(open({str(LAB)!r}, encoding='utf-8').read(), 'lab', 'exec'), names)\n"
    )
    env = dict(os.environ, PATH=str(path))
    if os.name != "nt":
        env["PATH"] += os.pathsep + str(path / "none")
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def stub(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_the_file_parses_on_python_36() -> None:
    import ast

    ast.parse(LAB.read_text("utf-8"), feature_version=(3, 6))


def test_too_little_space_is_said_before_anything_is_made(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = shutil.disk_usage(lab.ROOT)._replace(free=300_000_000)
    monkeypatch.setattr(lab.shutil, "disk_usage", lambda _: usage)
    assert lab.main_or_sentence(["hello"]) == 2
    error = capsys.readouterr().err
    assert "The disk has 0.3 GB free and the lab needs about" in error
    assert not lab.VENV.exists()


def test_a_missing_ensurepip_names_debians_package(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: name != "ensurepip" or None)
    assert lab.main_or_sentence(["hello"]) == 2
    assert f"apt-get install python{lab.THIS}-venv" in capsys.readouterr().err
    assert not lab.VENV.exists()


def test_pips_failures_become_sentences(lab: ModuleType) -> None:
    full = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    assert lab.explain(full).startswith("The disk is full: free about")
    none = f"ERROR: No matching distribution found for torch=={TORCH}"
    assert lab.explain(none).startswith(f"There is no torch {TORCH} for ")
    changed = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."
    assert "not the file that was locked" in lab.explain(changed)
    assert "install.log" in lab.explain("ERROR: something else")


def test_a_full_disk_is_seen_even_when_nobody_says_so(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(lab.ROOT)._replace(free=1_000_000)
    monkeypatch.setattr(lab.shutil, "disk_usage", lambda _: usage)
    assert lab.explain("returned non-zero exit status 1").startswith("The disk is full: ")


def test_an_unreachable_index_is_recognised_in_what_pip_really_says(
    lab: ModuleType, index: Index
) -> None:
    env = variables(index, PIP_INDEX_URL=closed_port(), PIP_RETRIES="0")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "no-such-package-here"]
    output = subprocess.run(command, env=env, capture_output=True, text=True)
    assert output.returncode == 1
    assert lab.explain(output.stdout + output.stderr).startswith("No package index could be reach")


def test_a_package_cut_short_is_forgotten_and_a_whole_one_kept(lab: ModuleType) -> None:
    folder = lab.site_packages()
    for name in ("whole-1.0.dist-info", "half-1.0.dist-info"):
        (folder / name).mkdir(parents=True)
        (folder / name / "METADATA").write_text("")
    (folder / "whole-1.0.dist-info" / "INSTALLER").write_text("pip")
    lab.drop_half_installed()
    assert [path.name for path in folder.iterdir()] == ["whole-1.0.dist-info"]


def test_the_lock_is_split_into_pip_and_pins(lab: ModuleType) -> None:
    pip = "pip==2 \\\n    --hash=b \\\n    --hash=c\n"
    own, pins = lab.split_lock(f"# head\n\na==1 ; x == 'y' \\\n    --hash=a\n{pip}z==3\n")
    assert own == pip
    assert [line.strip() for line in pins.splitlines()] == ["a==1 ; x == 'y'", "pip==2", "z==3"]


def begin(root: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    """Start a run in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, str(root / "lab"), "hello"],
        env=env,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=None if os.name == "nt" else hear_interrupts,
    )


def hear_interrupts() -> None:
    """A suite that runs in the background is deaf to Ctrl-C, and so its children would be."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(index: Index, part: str) -> None:
    """Until the index has been asked for something."""
    end = time.monotonic() + 60
    while not any(part in path for path in index.requests):
        assert time.monotonic() < end, index.requests
        time.sleep(0.05)


@posix
@pytest.mark.slow
def test_an_interrupted_installation_continues(tmp_path: Path, index: Index) -> None:
    root, env = small_lab(tmp_path / "copy"), variables(index)
    index.slow["pytest-9.0"] = 60
    # Ctrl-C: the whole group hears it.
    process = begin(root, env)
    wait_for(index, "pytest-9.0")
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert error.endswith("Stopped. Run the same command again: it continues where it stopped.\n")
    assert versions(root, env)["environment"]["state"] == "unfinished or out of date"
    # Killed without a word, pip included.
    index.requests.clear()
    process = begin(root, env)
    wait_for(index, "pytest-9.0")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    # Killed alone: its pip lives on and keeps the lock, so that nobody disturbs it.
    index.requests.clear()
    index.slow["pytest-9.0"] = 4
    process = begin(root, env)
    wait_for(index, "pytest-9.0")
    process.kill()
    done = run(root, "hello", env=env)
    assert done.returncode == 7, done.stderr
    assert "Another ./lab is preparing the environment" in done.stderr
    assert "a Python environment in .venv" not in done.stderr  # the first one was kept
    assert versions(root, env)["packages"] == {"alpha": "1.0", "pytest": "9.0"}
    process.communicate(timeout=20)


@pytest.mark.slow
def test_two_at_once_install_once(tmp_path: Path, index: Index) -> None:
    root, env = small_lab(tmp_path / "copy"), variables(index)
    both = [begin(root, env), begin(root, env)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [7, 7], errors
    assert sum("4/4" in error for error in errors) == 1
    assert sum("alpha-1.0" in path for path in index.requests) == 1


@pytest.mark.slow
def test_a_moved_lab_makes_its_environment_anew(ready: Ready, tmp_path: Path) -> None:
    root, env, _ = ready
    moved = tmp_path / "moved"
    shutil.copytree(root, moved, symlinks=True)
    assert versions(moved, env)["environment"]["state"] == "moved or foreign"
    done = run(moved, "hello", env=env)
    assert done.returncode == 7, done.stderr
    assert "making it again" in done.stderr
    assert json.loads(done.stdout)["prefix"] == str(moved / ".venv")


@pytest.mark.slow
def test_without_a_network_the_first_run_says_so_and_the_next_continues(
    tmp_path: Path, index: Index
) -> None:
    root, env = small_lab(tmp_path / "copy"), variables(index)
    offline = env | {"PIP_INDEX_URL": closed_port(), "PIP_RETRIES": "0"}
    done = run(root, "hello", env=offline)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("No package index could be reached: check the")
    assert run(root, "hello", env=env).returncode == 7


# --- torch ---------------------------------------------------------------------------------------


@pytest.fixture
def ask(lab: ModuleType, index: Index, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`lab` with a default index whose torch needs a card, and a short patience."""
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name, value in variables(index).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(lab, "CPU_INDEX_TIMEOUT", 2)
    return lab


def test_a_wheel_on_disk_is_taken_as_it_is(
    ask: ModuleType, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"torch-{TORCH}+cpu-py3-none-any.whl").write_bytes(CPU_TORCH)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    choice = ask.choose_torch(cpu_wanted=True, python=sys.executable)
    assert choice.words == [f"torch=={TORCH}"]
    assert "as pip is set up here" in choice.why
    assert not [path for path in index.requests if path.startswith("/cpu")]


def test_the_cpu_index_is_taken(ask: ModuleType, index: Index) -> None:
    choice = ask.choose_torch(cpu_wanted=True, python=sys.executable)
    assert choice.words == ["--index-url", index.url("cpu"), f"torch=={TORCH}+cpu"]
    # Finding out downloads no wheel.
    assert not [path for path in index.requests if path.endswith(".whl")]


@pytest.mark.parametrize("fault", ["hangs", "refuses", "lacks the build"])
def test_a_cpu_index_that_fails_means_the_default_build_and_a_word_on_its_size(
    ask: ModuleType, index: Index, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "hangs":
        index.slow["/cpu/"] = 30
    else:
        address = closed_port() if fault == "refuses" else index.url("empty")
        monkeypatch.setenv("LAB_TORCH_CPU_INDEX", address)
    began = time.monotonic()
    choice = ask.choose_torch(cpu_wanted=True, python=sys.executable)
    assert choice.words == [f"torch=={TORCH}"]
    assert "several GB" in choice.why
    assert time.monotonic() - began < 12


def test_with_a_card_nothing_is_asked(ask: ModuleType, index: Index) -> None:
    choice = ask.choose_torch(cpu_wanted=False, python=sys.executable)
    assert choice.words == [f"torch=={TORCH}"]
    assert index.requests == []


def test_a_card_shows_itself_by_nvidia_smi_on_path_and_matters_on_linux_only(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab.os.path, "exists", lambda _: False)
    monkeypatch.setattr(lab.shutil, "which", lambda name: None)
    monkeypatch.setattr(lab.platform, "system", lambda: "Linux")
    assert lab.wanted_torch() == "cpu"
    monkeypatch.setattr(lab.platform, "system", lambda: "Darwin")
    assert lab.wanted_torch() == "default"
    monkeypatch.setattr(lab.platform, "system", lambda: "Linux")
    monkeypatch.setattr(lab.shutil, "which", lambda name: f"/bin/{name}")
    assert lab.wanted_torch() == "default"


@pytest.mark.parametrize(
    ("url", "version", "needs", "expected"),
    [
        ("https://x/torch.whl", TORCH, ["nvidia-cublas==1; platform_system=='Linux'"], False),
        ("https://x/torch.whl", TORCH, ["triton==3"], False),
        ("https://x/torch.whl", TORCH, ["filelock", "sympy"], True),
        ("https://x/torch.whl", f"{TORCH}+cpu", ["filelock"], True),
        ("file:///x/torch.whl", TORCH, ["nvidia-cublas==1"], True),
    ],
)
def test_a_cpu_build_is_recognised(
    lab: ModuleType, url: str, version: str, needs: list[str], expected: bool
) -> None:
    metadata = {"version": version, "requires_dist": needs}
    offer = {"download_info": {"url": url}, "metadata": metadata}
    assert lab.is_cpu_build(offer) is expected
    assert lab.is_cpu_build({}) is False


@pytest.mark.skipif(sys.platform != "linux", reason="the choice is made on Linux")
def test_the_environment_got_the_cpu_build_and_nothing_of_cuda(ready: Ready) -> None:
    root, env, _ = ready
    if load(LAB).has_nvidia():
        pytest.skip("there is a card here")
    facts = versions(root, env)
    assert facts["torch"]["version"] == f"{TORCH}+cpu"
    assert facts["torch"]["build"] == "cpu"
    assert not list(python_of(root).parents[1].glob("lib/*/site-packages/nvidia*"))


@posix
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the choice is made on Linux")
def test_with_a_card_the_default_build_comes_with_its_needs(tmp_path: Path, index: Index) -> None:
    root = small_lab(tmp_path / "copy")
    (tmp_path / "bin").mkdir()
    stub(tmp_path / "bin" / "nvidia-smi", "exit 0")
    env = variables(index, PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    done = run(root, "hello", env=env)
    if "GB free and the lab needs" in done.stderr:
        pytest.skip("this disk has no room for the default build")
    assert done.returncode == 7, done.stderr
    facts = versions(root, env)
    assert (facts["torch"]["version"], facts["torch"]["build"]) == (TORCH, "cuda 13.0")
    assert list(python_of(root).parents[1].glob("lib/*/site-packages/nvidia_fake*"))
    assert not [path for path in index.requests if path.startswith("/cpu")]


# --- The words -----------------------------------------------------------------------------------


def test_help_needs_no_environment(tmp_path: Path, index: Index) -> None:
    root = small_lab(tmp_path / "copy")
    bare, asked = (run(root, *words, env=variables(index)) for words in ([], ["--help"]))
    assert bare.returncode == asked.returncode == 0
    assert bare.stdout == asked.stdout
    for word in ("start", "test", "doctor", "--check", "labkit"):
        assert word in bare.stdout
    assert not (root / ".venv").exists()


def test_an_unknown_word_goes_to_labkit_with_folder_and_exit_code(
    ready: Ready, tmp_path: Path
) -> None:
    root, env, _ = ready
    done = run(root, "frobnicate", "a b", "--json", "--", "-x", env=env, cwd=tmp_path)
    assert done.returncode == 7
    said = json.loads(done.stdout)
    assert said["words"] == ["frobnicate", "a b", "--json", "--", "-x"]
    assert said["cwd"] == str(tmp_path)
    assert Path(said["prefix"]) == root / ".venv"


def test_a_folder_with_a_labkit_of_its_own_changes_nothing(ready: Ready, tmp_path: Path) -> None:
    root, env, _ = ready
    (tmp_path / "labkit.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong one')")
    assert run(root, "hello", env=env, cwd=tmp_path).returncode == 7


def test_words_after_the_dashes_go_to_pytest(ready: Ready) -> None:
    root, env, _ = ready
    said = json.loads(run(root, "test", "--", "-k", "name or other", "-x", env=env).stdout)
    lessons = ["tests", "notebooks", "--nbval", "--nbval-cell-timeout", "120"]
    assert said["words"] == ["-m", "not slow", *lessons, "-k", "name or other", "-x"]
    assert said["cwd"] == str(root)
    assert json.loads(run(root, "test", "--all", env=env).stdout)["words"] == lessons
    named = run(root, "test", "--all", "--", "tests/test_one.py::test_it", env=env)
    assert json.loads(named.stdout)["words"] == ["tests/test_one.py::test_it"]


def test_a_wrong_word_for_our_own_commands_is_a_usage_error(ready: Ready) -> None:
    root, env, _ = ready
    for words in (["test", "--everything"], ["start", "--prot", "1"], ["doctor", "--yaml"]):
        done = run(root, *words, env=env)
        assert done.returncode == 2
        assert "usage: ./lab" in done.stderr


def test_the_doctor_works_before_and_after(ready: Ready, tmp_path: Path, index: Index) -> None:
    fresh = small_lab(tmp_path / "copy")
    before, after = versions(fresh, variables(index)), versions(ready[0], ready[1])
    assert before["environment"]["state"] == "not made yet"
    assert before["packages"] == {"alpha": None, "pytest": None}
    assert before["torch"]["version"] is None
    assert index.requests == []
    assert after["environment"]["state"] == "ready"
    assert after["packages"] == {"alpha": "1.0", "pytest": "9.0"}
    bench = after["extras"]["bench"]
    assert (bench["missing"], bench["present"]) == (["omega-index"], False)
    assert bench["install"].endswith('-e ".[bench]"')
    assert after["extras"]["test"]["present"]
    assert {"version", "fts5", "enable_load_extension"} == set(after["sqlite"])
    text = run(ready[0], "doctor", env=ready[1]).stdout
    assert "needs omega-index:" in text


# --- ./lab start ---------------------------------------------------------------------------------


@pytest.fixture
def started(ready: Ready) -> Iterator[Ready]:
    """The ready lab without anything that an earlier `start` made."""
    root, env, index = ready
    yield root, env, index
    shutil.rmtree(root / "my-lab", ignore_errors=True)
    (root / ".labkit" / "built").unlink(missing_ok=True)
    (root / "notebooks" / "00_start.ipynb").write_text("lesson 0")


def test_start_check_goes_all_the_way_and_comes_back(started: Ready) -> None:
    root, env, _ = started
    done = run(root, "start", "--check", env=env)
    assert done.returncode == 0, done.stderr
    assert "[EXPORT#0]" in done.stdout
    assert "GX-999" in done.stdout
    assert "Building the index" in done.stderr
    assert "/lab/tree/notebooks/00_start.ipynb" in done.stderr
    log = (root / ".venv" / "jupyter.log").read_text()
    assert "--ServerApp.ip=127.0.0.1" in log
    assert f"--ServerApp.root_dir={root / 'my-lab'}" in log
    lab = {p.relative_to(root / "my-lab").as_posix() for p in (root / "my-lab").rglob("*.*")}
    lessons = {"notebooks/00_start.ipynb", "notebooks/01_next.ipynb", "exercises/01/exercise.ipynb"}
    assert lab == lessons | {".copied.json"}
    again = run(root, "start", "--check", env=env)
    assert again.returncode == 0
    assert "Building the index" not in again.stderr
    assert "rebuilt" not in again.stdout


def test_a_broken_jupyter_is_noticed(started: Ready) -> None:
    root, env, _ = started
    done = run(root, "start", "--check", env=env | {"JUPYTER_BROKEN": "1"})
    assert done.returncode == 2
    assert "no server today" in done.stderr
    assert "JupyterLab did not answer on port" in done.stderr.splitlines()[-1]


def test_the_learners_files_are_never_written_to(
    lab: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (lab.LESSONS / "notebooks" / f"{n}.ipynb" for n in ("00_start", "01_next"))
    first.parent.mkdir(parents=True)
    first.write_text("my own work, from before")
    lab.copy_lessons()
    assert first.read_text() == "my own work, from before"
    assert second.read_text() == "lesson 1"
    assert "notebooks/00_start.ipynb" in capsys.readouterr().err
    # An edited copy of an unchanged lesson: nothing to say, nothing to do.
    second.write_text("edited")
    first.unlink()
    lab.copy_lessons()
    assert (first.read_text(), second.read_text()) == ("lesson 0", "edited")
    assert capsys.readouterr().err == ""
    # A lesson that changed after the copy was made: one line, and the copy stays.
    (lab.ROOT / "notebooks" / "01_next.ipynb").write_text("lesson 1, better")
    lab.copy_lessons()
    said = capsys.readouterr().err
    assert second.read_text() == "edited"
    assert "01_next.ipynb" in said
    assert "00_start" not in said
    assert said.count("\n") == 1
    # Renamed, as the line advises: the new one comes, the old one stays under its new name.
    second.rename(second.with_name("mine.ipynb"))
    lab.copy_lessons()
    assert second.read_text() == "lesson 1, better"
    assert second.with_name("mine.ipynb").read_text() == "edited"
    assert capsys.readouterr().err == ""


def test_a_file_that_appears_during_the_copy_is_left_alone(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = tmp_path / "lesson.ipynb"
    target.write_text("just saved")
    monkeypatch.setattr(lab.os.path, "lexists", lambda _: False)
    assert lab.write_new(target, b"shipped") is False
    assert target.read_text() == "just saved"
    assert [path for path in tmp_path.iterdir() if path.suffix == ".part"] == []


@posix
def test_a_dangling_link_in_my_lab_is_not_written_through(lab: ModuleType, tmp_path: Path) -> None:
    link = tmp_path / "lesson.ipynb"
    link.symlink_to(tmp_path / "elsewhere.ipynb")
    assert lab.write_new(link, b"shipped") is False
    assert not (tmp_path / "elsewhere.ipynb").exists()
