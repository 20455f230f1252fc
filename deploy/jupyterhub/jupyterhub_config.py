"""JupyterHub for one class on one machine.

Everything that differs between machines comes from the environment (`README.md` lists it), so that
this file can be used as it stands and its tests use it as it stands. It listens on loopback unless
told otherwise, keeps its secrets in a folder of its own, and lets in nobody who is not named.
"""

import os
import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

c = get_config()  # noqa: F821 - JupyterHub defines it

HERE = Path(__file__).resolve().parent
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def setting(name: str, default: str = "") -> str:
    """The value of LABKIT_HUB_<name>."""
    return os.environ.get(f"LABKIT_HUB_{name}", default).strip()


def names(setting_name: str) -> set[str]:
    """User names, separated by commas or spaces."""
    return set(setting(setting_name).replace(",", " ").split())


def private_folder(path: Path) -> Path:
    """The folder, made if need be; nobody but the hub's own account may look inside."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def kept_secret(path: Path) -> str:
    """32 random bytes in hexadecimal: made at the first start, read again at each later one."""
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
    return path.read_text("utf-8")


# --- Where it listens ----------------------------------------------------------------------------

c.JupyterHub.bind_url = setting("BIND", "http://127.0.0.1:8000")
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.hub_port = int(setting("HUB_PORT", "8081"))
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{setting('PROXY_API_PORT', '8001')}"
c.ConfigurableHTTPProxy.command = [setting("PROXY", "configurable-http-proxy")]

# --- What it keeps -------------------------------------------------------------------------------

state = private_folder(Path(setting("STATE", "/srv/labkit/hub")))
c.JupyterHub.db_url = f"sqlite:///{state / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(state / "cookie_secret")  # made by JupyterHub, mode 0600
c.ConfigurableHTTPProxy.auth_token = kept_secret(state / "proxy_token")
c.ConfigurableHTTPProxy.pid_file = str(state / "proxy.pid")

# --- Who may come in -----------------------------------------------------------------------------

instructors, students = names("INSTRUCTORS"), names("STUDENTS")
c.Authenticator.allowed_users = instructors | students
c.Authenticator.admin_users = names("ADMINS")  # an instructor need not be one
c.Authenticator.allow_all = False
# Left unset, this is on as soon as there is a list, and whoever once came in may come for ever.
c.Authenticator.allow_existing_users = False
c.JupyterHub.authenticator_class = setting("AUTHENTICATOR", "pam")

# --- Each person's server ------------------------------------------------------------------------

c.JupyterHub.spawner_class = setting("SPAWNER", "localprocess")
c.Spawner.cmd = [setting("PYTHON", sys.executable), "-m", "jupyterhub.singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.environment = {
    # nbgrader_config.py stands beside this file; every person's nbgrader reads it.
    "JUPYTER_CONFIG_PATH": str(HERE),
    "LABKIT_HUB_COURSE": setting("COURSE", "labkit"),
    "LABKIT_HUB_EXCHANGE": setting("EXCHANGE", "/srv/labkit/exchange"),
    # nbgrader calls alembic by name, which stands beside the interpreter.
    "PATH": os.pathsep.join(
        [str(Path(setting("PYTHON", sys.executable)).parent), os.environ.get("PATH", os.defpath)]
    ),
    # One thread of linear algebra a server: thirty people share the processors.
    "OMP_NUM_THREADS": setting("THREADS", "1"),
}
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 60
c.JupyterHub.concurrent_spawn_limit = 10
c.JupyterHub.active_server_limit = int(setting("MOST_SERVERS", "0"))  # 0: no limit

# Limits of memory and processor need a spawner that can hold them. `localprocess` cannot: it
# ignores these two. With `pip install jupyterhub-systemdspawner` and LABKIT_HUB_SPAWNER=systemd
# they hold, through cgroups.
# c.Spawner.mem_limit = "2G"
# c.Spawner.cpu_limit = 1.0

# Stops servers that nobody has used for this many seconds. Needs `pip install
# jupyterhub-idle-culler`, which the extra `hub` leaves out.
if idle := setting("IDLE_SECONDS"):
    c.JupyterHub.services = [
        {
            "name": "idle-culler",
            "command": [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={idle}"],
        }
    ]
    c.JupyterHub.load_roles = [
        {
            "name": "idle-culler",
            "services": ["idle-culler"],
            "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        }
    ]

# --- What must not happen ------------------------------------------------------------------------

for_tests_alone = {"dummy", "simple"} & {
    c.JupyterHub.authenticator_class,
    c.JupyterHub.spawner_class,
}
if for_tests_alone and urlsplit(c.JupyterHub.bind_url).hostname not in LOOPBACK:
    raise SystemExit(
        f"{' and '.join(sorted(for_tests_alone))}: no passwords, or one account for everybody. "
        f"That is for tests on loopback; {c.JupyterHub.bind_url} can be reached by others. "
        "Set LABKIT_HUB_AUTHENTICATOR=pam and LABKIT_HUB_SPAWNER=localprocess, or bind to "
        "127.0.0.1."
    )
if instructors & students:
    raise SystemExit(
        f"Both instructor and student: {', '.join(sorted(instructors & students))}. "
        "Name each person in one of LABKIT_HUB_INSTRUCTORS and LABKIT_HUB_STUDENTS."
    )
