"""Every error gives one line on stderr and the right exit status."""

import errno
import os
import resource
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import nmtkit
from nmtkit.cli import main
from nmtkit.errors import DataError
from nmtkit.extras import install_command

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `nmtkit work`, a command that calls a function of the test."""

    def run_work(work: Callable[[], Any], *arguments: str, options: tuple[str, ...] = ()) -> Result:
        @click.command(name="work")
        @click.option("--number", type=int, help="A number.")
        def command(number: int | None) -> Any:
            """Call the function of the test."""
            return work()

        module = types.ModuleType("nmtkit_test_work")
        module.__dict__["command"] = command
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(main.COMMANDS, "work", (module.__name__, "Do the work."))
        return CliRunner().invoke(main.cli, [*options, "work", *arguments], prog_name="nmtkit")

    return run_work


def failing(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


class OutOfMemoryError(RuntimeError):
    """Has the name of torch's error."""


def test_success_is_status_0_with_an_empty_stderr(run: Run) -> None:
    result = run(lambda: click.echo("œuvre"))
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, "œuvre\n".encode(), "")


def test_the_return_value_of_a_command_is_not_the_status(run: Run) -> None:
    assert run(lambda: 7).exit_code == 0


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DataError("a.en:3: not UTF-8"), "a.en:3: not UTF-8"),
        (DataError("first\n  second\u2028third"), "first second third"),
        (OSError(errno.ENOSPC, "No space left on device", "/d/model"), "/d/model: No space left"),
        (PermissionError(errno.EACCES, "Permission denied", Path("x")), "x: Permission denied"),
        (FileNotFoundError(errno.ENOENT, "No such file", b"y"), "y: No such file"),
        (OSError(errno.EIO, "Input/output error"), "reading or writing failed: Input/output"),
        (ModuleNotFoundError("no", name="matplotlib.figure"), install_command("plots")),
        (ModuleNotFoundError("no", name="sklearn"), install_command("plots")),
        (MemoryError(), "not enough memory"),
        (OutOfMemoryError("CUDA out of memory"), "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "not enough mem"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "not enough"),
        (DataError("x\x1b[2Jy\x07\u202ez\x00 é"), "x\\x1b[2Jy\\x07\\u202ez\\x00 é"),
        (click.ClickException("cannot be"), "cannot be"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_failure_is_one_line_and_status_1(run: Run, error: Exception, line: str) -> None:
    result = run(failing(error))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("nmtkit: error: ") and line in result.stderr
    assert result.stderr.count("\n") == 1 and "\u2028" not in result.stderr


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a fault of ours"),
        ModuleNotFoundError("no", name="nmtkit.nothing"),
        ImportError("cannot import name 'nothing' from 'nmtkit'"),
        OSError("not of the operating system"),
        EOFError(),
    ],
    ids=repr,
)
def test_a_bug_of_the_program_is_not_hidden(run: Run, error: Exception) -> None:
    assert run(failing(error)).exception is error


def test_verbose_shows_the_traceback(run: Run) -> None:
    def work() -> None:
        raise DataError("bad line") from ValueError("deeper")

    assert "deeper" in run(work, options=("--verbose",)).stderr
    assert "deeper" not in run(work).stderr


def test_an_interrupt_is_quiet(run: Run) -> None:
    result = run(failing(KeyboardInterrupt()))
    assert (result.exit_code, result.output) == (130, "")


def test_a_broken_pipe_is_quiet(run: Run) -> None:
    result = run(failing(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    assert (result.exit_code, result.output) == (141, "")


def test_aborting_at_a_prompt_is_an_interrupt(run: Run) -> None:
    assert run(failing(click.Abort())).exit_code == 130


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["trasnlate"],
            "No such command 'trasnlate'; did you mean 'translate'? See: nmtkit --help",
        ),
        (["xyz"], "No such command 'xyz'; there are prepare, select, shortlist, train,"),
        (["--bogus"], "No such option"),
        (["work", "--nubmer", "3"], "See: nmtkit work --help"),
        (["work", "--number", "three"], "'three' is not a valid integer"),
        (["work", "extra"], "unexpected extra argument"),
        (["--quiet", "--verbose", "work"], "--quiet and --verbose exclude each other"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run: Run, arguments: list[str], line: str) -> None:
    run(lambda: None)  # makes the command `work` known
    result = CliRunner().invoke(main.cli, arguments, prog_name="nmtkit")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("nmtkit: error: ") and line in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_goes_to_stderr_without_arguments() -> None:
    result = CliRunner().invoke(main.cli, [], prog_name="nmtkit")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == CliRunner().invoke(main.cli, ["-h"], prog_name="nmtkit").stdout


def test_help_names_every_command() -> None:
    result = CliRunner().invoke(main.cli, ["--help"], prog_name="nmtkit")
    lines = result.stdout.partition("Commands:\n")[2].splitlines()[:-1]  # and how to get more
    assert result.exit_code == 0
    assert [line.split(maxsplit=1) for line in lines] == [
        [name, sentence] for name, (_, sentence) in main.COMMANDS.items()
    ]


def test_programs_that_document_click_groups_find_every_command() -> None:
    context = click.Context(main.cli)
    commands = [main.cli.get_command(context, name) for name in main.cli.list_commands(context)]
    assert [command.name for command in commands if command] == [
        name if isinstance(command, click.Group) else "command"
        for name, command in zip(main.COMMANDS, commands, strict=True)
    ]


def test_version_shows_torch_and_python() -> None:
    lines = CliRunner().invoke(main.cli, ["--version"]).stdout.splitlines()
    assert lines[0] == f"nmtkit {nmtkit.__version__}"
    assert lines[1].startswith("torch 2.")
    assert lines[2] == f"Python {sys.version.split()[0]}"


def test_version_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    assert "torch not installed" in CliRunner().invoke(main.cli, ["--version"]).stdout


def process(*arguments: str, **settings: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run the real command in another process."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "", **settings.pop("env", {})}
    code = "from nmtkit.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        env=environment,
        **settings,
    )


def test_a_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["sh", "-c", 'rmdir "$0"; exec "$@"', str(gone), sys.executable, "-m", "nmtkit"]
    arguments = ["translate", "-m", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([*command, *arguments], cwd=gone, env=environment, capture_output=True)
    assert done.returncode == 1
    assert b"error: the current folder was removed; change into another one" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_closed_pipe_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = process("--help", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("--help", 1, b"nmtkit: error: stdout: Bad file descriptor\n"),
        ("shortlist train.en --size 3 -o vocab", 0, b""),
        ("nonsense", 2, b"nmtkit: error: No such command 'nonsense'"),
    ],
)
def test_results_are_not_lost_in_a_closed_stdout(
    tmp_path: Path, arguments: str, status: int, message: bytes
) -> None:
    (tmp_path / "train.en").write_text("a b a\n")
    code = "from nmtkit.cli.main import main; main()"
    closing = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", code, *arguments.split()]
    done = subprocess.run(closing, stderr=subprocess.PIPE, cwd=tmp_path)
    assert done.returncode == status
    assert message in done.stderr and b"Traceback" not in done.stderr
    assert (tmp_path / "vocab").exists() == (status == 0)


@pytest.mark.parametrize("command", ["select --pool - x", "shortlist - --size 3 -o vocab"])
def test_a_closed_stdin_is_no_empty_text(tmp_path: Path, command: str) -> None:
    code = "from nmtkit.cli.main import main; main()"
    if command.startswith("select"):
        (tmp_path / "x").write_text("a\n")
        command += " --domain x x -s en -t fr --pairs 1 -o a b"
    closing = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", code, *command.split()]
    done = subprocess.run(closing, capture_output=True, cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == b""
    assert b"nmtkit: error: -: cannot be read: Bad file descriptor" in done.stderr


def test_a_slow_reader_of_a_non_blocking_stdout_gets_all() -> None:
    """The other end of a pipe that another process made non-blocking, as Node.js does."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    code = (
        "from nmtkit.cli import main; main.open_standard_streams()\n"
        "import sys\n"
        "for _ in range(3000): print('x' * 99)\n"
        "sys.exit(main.close_stdout(0))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=writer)
    os.close(writer)
    size = 0
    with open(reader, "rb", buffering=0) as stream:
        while chunk := stream.read(500):
            size += len(chunk)
    assert (process.wait(), size) == (0, 300_000)


ENDING = """
import atexit, os, sys, threading
from nmtkit.cli.main import main

leave_at_once = os._exit

def tell(what):
    print(what, end=" ", file=sys.stderr, flush=True)

def tell_and_leave(status):
    tell("at once")
    leave_at_once(status)

def wait_for_the_end():
    threading.main_thread().join()
    tell("late")

os._exit = tell_and_leave
atexit.register(tell, "registered")
late = threading.Thread(target=wait_for_the_end)
{start}
main()
"""


@pytest.mark.parametrize(
    ("statement", "message"), [("", "registered at once "), ("late.start()", "late registered ")]
)
def test_a_process_exits_at_once_unless_a_thread_runs(statement: str, message: str) -> None:
    code = ENDING.format(start=statement)
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"nmtkit {nmtkit.__version__}\n")
    assert done.stderr == message


def test_a_full_disk_behind_stdout_is_reported() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no device that is always full")
    with open("/dev/full", "wb") as full:
        done = process("--version", stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"nmtkit: error: stdout: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_fills_up_within_a_write_is_reported(tmp_path: Path, unbuffered: str) -> None:
    """Such a write ends half way, and an unbuffered stdout of Python would drop its rest."""
    whole = process("--version", stdout=subprocess.PIPE).stdout
    limit = (len(whole) - 3, resource.RLIM_INFINITY)
    with open(tmp_path / "output", "wb") as output:
        done = process(
            "--version",
            stdout=output,
            env={"PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        )
    assert done.returncode == 1
    assert done.stderr == b"nmtkit: error: stdout: File too large\n"
    assert whole.startswith((tmp_path / "output").read_bytes())


def test_buffered_output_causes_no_second_error() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no device that is always full")
    code = (
        "from nmtkit.cli import main\nimport sys\nprint('buffered')\nsys.exit(main.close_stdout(0))"
    )
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_stdout_is_utf8_in_any_locale() -> None:
    code = (
        "from nmtkit.cli import main; main.open_standard_streams(); print('\\u0153\\u2028\\udcff')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert done.stdout == "œ\u2028\\udcff\n".encode()


@pytest.mark.parametrize(
    ("shell", "words", "completions"),
    [
        ("bash", "nmtkit tr", {"plain,train", "plain,translate"}),
        ("bash", "nmtkit --ver", {"plain,--verbose", "plain,--version"}),
        ("bash", "nmtkit evaluate --he", {"plain,--help", "plain,--help-all"}),
        ("bash", "nmtkit nonsense --ver", {"plain,--verbose", "plain,--version"}),
        ("zsh", "nmtkit shor", {"plain", "shortlist", main.COMMANDS["shortlist"][1]}),
        ("fish", "nmtkit al", {f"plain,align\t{main.COMMANDS['align'][1]}"}),
    ],
)
def test_shells_complete_commands_and_options(
    shell: str, words: str, completions: set[str]
) -> None:
    environment = {"COMP_WORDS": words, "COMP_CWORD": "1", "_NMTKIT_COMPLETE": f"{shell}_complete"}
    if shell == "fish":
        environment["COMP_CWORD"] = words.split()[-1]
    else:
        environment["COMP_CWORD"] = str(len(words.split()) - 1)
    done = process(env=environment, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert set(done.stdout.decode().split("\n")) - {""} == completions


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    done = process(env={"_NMTKIT_COMPLETE": f"{shell}_source"}, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert f"_NMTKIT_COMPLETE={shell}_complete".encode() in done.stdout


def test_completing_a_command_name_imports_no_command() -> None:
    code = (
        "import sys; from nmtkit.cli.main import cli\n"
        "found = cli.shell_complete(cli.make_context('nmtkit', ['-q', 'x']), 'al')\n"
        "assert [item.value for item in found] == ['align']\n"
        "print([name for name in sys.modules if name.startswith('nmtkit.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("nmtkit.cli.") for name in eval(done.stdout)}
    assert not loaded & {module.rpartition(".")[2] for module, _ in main.COMMANDS.values()}
