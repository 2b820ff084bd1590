# Programs that read standard input and print get what CPython gives them: descriptors 0, 1 and 2 are the streams
# themselves, and at the end happens what happens at the end of an interpreter, as far as the output depends on it.

import atexit
from _sitebuiltins import Quitter

PATHS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
PATHS.update((folder % number, number) for folder in ("/dev/fd/%d", "/proc/self/fd/%d") for number in range(3))


def open_standard_stream(number, name):
    # Made of its parts: `open` would ask the system about each.
    raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
    raw.name = "<%s>" % name
    buffer = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
    errors = "backslashreplace" if number == 2 else "surrogateescape"
    stream = io.TextIOWrapper(buffer, "utf-8", errors, "\n", number == 2)
    stream.mode = "r" if number == 0 else "w"
    setattr(sys, name, stream)
    setattr(sys, "__%s__" % name, stream)


def standard_stream(file):
    # The descriptor that a path stands for: there is no /dev here.
    return None if isinstance(file, int) else PATHS.get(os.fsdecode(file))


def open_paths():
    open_file, open_descriptor = io.open, os.open

    def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        number = standard_stream(file)
        if number is not None:
            file, closefd = number, False
        return open_file(file, mode, buffering, encoding, errors, newline, closefd, opener)

    def descriptor(path, flags, mode=0o777, *, dir_fd=None):
        number = standard_stream(path)
        return os.dup(number) if number is not None else open_descriptor(path, flags, mode, dir_fd=dir_fd)

    builtins.open = io.open = open
    os.open = descriptor


def allow_stacks():
    set_limit = resource.setrlimit
    resource.setrlimit = lambda which, limits: None if which == resource.RLIMIT_STACK else set_limit(which, limits)


def flush(stream):
    try:
        stream.flush()
    except BaseException:
        # Closed, or no stream at all.
        pass


def flush_before_leaving():
    # CPython loses what is in its buffers. Who calls this has not seen it, because a terminal's lines are written at once.
    leave = os._exit

    def exit_at_once(status):
        flush(sys.stdout)
        leave(status)

    os._exit = exit_at_once


def end(names, may_leave_open):
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass
    flush(sys.stdout)
    # Files that it has left open are written as they are let go.
    for name in list(names) if may_leave_open else ():
        if name != "__builtins__":
            names[name] = None
    flush(sys.__stdout__)


def stdio(message):
    program = message["program"]
    code = compiled(program, "<program>")
    message.clear()
    atexit._clear()
    open_standard_stream(0, "stdin")
    open_standard_stream(1, "stdout")
    # Whatever is changed here costs each program a copy of memory that it shares with the zygote, so it is done where the
    # program names it.
    if "stderr" in program:
        open_standard_stream(2, "stderr")
    if "/dev/" in program or "/proc/" in program:
        open_paths()
    if "resource" in program:
        allow_stacks()
    finish = run_threads_in_turns(any(word in program for word in WAITING)) if "thread" in program else None
    if "_exit" in program:
        flush_before_leaving()
    if "quit" in program or "exit" in program:
        builtins.quit, builtins.exit = (Quitter(name, "Ctrl-D (i.e. EOF)") for name in ("quit", "exit"))
    sys.argv[:] = ["program.py"]
    names = STAGE.__dict__
    names["__name__"] = "__main__"
    names["__file__"] = "/program.py"
    try:
        try:
            exec(code, names)
        except SystemExit:
            if finish is not None:
                finish()
            raise
        if finish is not None:
            finish()
    except BaseException as error:
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            # What it printed before it failed, a reward may want to see.
            flush(sys.stdout)
            raise
    end(names, "open" in program or "__del__" in program)
    # What it printed is all that it has to say.
    os._exit(0)


HANDLERS["stdio"] = stdio
