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
    stream = io.TextIOWrapper(buffer, "utf-8", errors, None if number == 0 else "\n", number == 2)
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


def run_threads_at_once():
    # Such programs start one thread for its stack, and wait for it. Here the thread runs when it is started, to its end,
    # on a stack that is large already. So no thread is needed, and one that waits for a later one gets an error.
    import threading

    def start(thread):
        if thread._started.is_set():
            raise RuntimeError("threads can only be started once")
        thread._started.set()
        try:
            thread.run()
        except BaseException:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), thread)))

    def join(thread, timeout=None):
        if not thread._started.is_set():
            raise RuntimeError("cannot join thread before it is started")

    def wait(condition, timeout=None):
        if timeout is None:
            raise RuntimeError("it waits for another thread, but threads run one after the other here")
        return False

    threading.Condition.wait = wait
    threading.Thread.start, threading.Thread.join, threading.Thread.is_alive = start, join, lambda thread: False
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
    if "thread" in program or "resource" in program:
        run_threads_at_once()
    if "_exit" in program:
        flush_before_leaving()
    if "quit" in program or "exit" in program:
        builtins.quit, builtins.exit = (Quitter(name, "Ctrl-D (i.e. EOF)") for name in ("quit", "exit"))
    sys.argv[:] = ["program.py"]
    names = STAGE.__dict__
    names["__name__"] = "__main__"
    try:
        exec(code, names)
    except BaseException as error:
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            # What it printed before it failed, a reward may want to see.
            flush(sys.stdout)
            raise
    end(names, "open" in program or "__del__" in program)
    # What it printed is all that it has to say.
    os._exit(0)


HANDLERS["stdio"] = stdio
