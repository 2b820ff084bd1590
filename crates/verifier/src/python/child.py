# Runs in the forked child: confines itself, reads requests from descriptor 3 and answers each with one frame.
#
# A frame is a kind byte, a four-byte length and that many bytes. Requests are JSON. Answers: V a value, D the digest of
# a value that is too large, U a value that cannot be encoded, C a call by a test, X an exception, M a program that does
# not compile, I an input that cannot be evaluated. The program can tamper with everything here: an answer is only a
# claim about the program's own value.

import builtins
import io
import json

SOCKET = 3
# Where requests are read and answers written.
DESCRIPTORS = [SOCKET, SOCKET]
MAX_ARGUMENTS = 1 << 20
HANDLERS = {}
SCAN = json.JSONDecoder().scan_once


def receive(count):
    data = b""
    while len(data) < count:
        part = os.read(DESCRIPTORS[0], min(count - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return data


def request():
    header = receive(4)
    body = header and receive(int.from_bytes(header, "big"))
    return SCAN(body.decode(), 0)[0] if body is not None and header is not None else None


def answer(kind, data):
    data = memoryview(kind + len(data).to_bytes(4, "big") + data)
    while data:
        data = data[os.write(DESCRIPTORS[1], data):]


def describe(error):
    # Its class, the nearest class that every process knows, and its message.
    name = type(error).__name__[:100]
    known = next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
    try:
        text = str(error)
    except BaseException:
        text = ""
    return "\0".join((name, known, text[:500])).encode("utf-8", "replace")


def capture(*positional, **keyword):
    return positional, keyword


class Sink(io.TextIOBase):
    def writable(self):
        return True

    def write(self, text):
        return len(text)


SINK = Sink()
EMPTY = io.StringIO()


def hide_streams():
    sys.stdout = sys.stderr = SINK
    sys.stdin = EMPTY


def literal_names():
    return {"Counter": Counter, "deque": deque}


def evaluated(arguments, names):
    code = compiled("__lyceum_capture__(" + arguments + "\n)", "<input>", "eval")
    return eval(code, {**names, "__lyceum_capture__": capture})


def compiled(source, name, mode="exec"):
    # As CPython reads a file that begins with a byte order mark.
    return compile(source.removeprefix("\ufeff"), name, mode, dont_inherit=True)


class Session:
    def __init__(self):
        self.names = self.printed = None
        self.lenient = False
        self.max_bytes = MAX_ARGUMENTS

    def load(self, message):
        self.lenient = message["lenient"]
        COPIES[0] = message["copies"]
        if COPIES[0]:
            take_functions()
            give_references()
        if message["shows_printed"]:
            self.printed = sys.stdout = io.StringIO()
        self.max_bytes = message["max_bytes"]
        try:
            code = compiled(message["program"], "<program>")
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError) as error:
            return b"M", describe(error)
        self.names = STAGE.__dict__
        message.clear()
        exec(code, self.names)
        return None

    def call(self, message):
        try:
            names = literal_names() if message["literal"] else self.names
            positional, keyword = evaluated(message["arguments"], names)
            if COPIES[0]:
                positional, keyword = restored_from(message["arguments"], (positional, keyword))
        except Exception as error:
            return b"I", describe(error)
        entry_point, top_tuple_as_list = message["entry_point"], message["top_tuple_as_list"]
        # What the program finds in this frame is the same whether it is proposed or graded.
        message.clear()
        if self.printed:
            self.printed.seek(0)
            self.printed.truncate()
        given = (*positional, *keyword.values()) if COPIES[0] else ()
        before = snapshot(given) if given else None
        value = target(self.names, entry_point)(*positional, **keyword)
        if before is not None and before != snapshot(given):
            value = with_changed(given, value)
        if self.printed and self.printed.getvalue():
            value = MARK, "printed", (self.printed.getvalue(), value)
        if top_tuple_as_list and type(value) is tuple:
            value = list(value)
        try:
            return b"V", encode(value, self.lenient, self.max_bytes)
        except TooLarge:
            if not self.lenient:
                raise
            return b"D", digest(value)

    def evaluate(self, message):
        # Only arguments: this process holds no program.
        try:
            return b"V", encode(evaluated(message["arguments"], literal_names()), False, message["max_bytes"])
        except Unserialisable:
            raise
        except Exception as error:
            return b"I", describe(error)


def target(names, entry_point):
    if not entry_point.isidentifier():
        # An expression, such as `Solution().f`.
        return eval(compiled(entry_point, "<entry point>", "eval"), names)
    if entry_point not in names and "Solution" in names:
        return getattr(names["Solution"](), entry_point)
    if entry_point not in names:
        raise NameError("name '%s' is not defined" % entry_point)
    return names[entry_point]


def serve():
    session = Session()
    names = "load", "call", "evaluate"
    handlers = {**{name: getattr(session, name) for name in names}, **HANDLERS}
    while True:
        message = request()
        if message is None:
            return
        is_last = message["do"] not in ("call", "math")
        try:
            result = handlers[message["do"]](message)
        except Unserialisable as error:
            result = b"U", str(error)[:500].encode("utf-8", "replace")
        except MemoryError as error:
            result = b"X", describe(error)
        except BaseException as error:
            result = b"X", describe(error)
        if result is not None:
            answer(*result)
            if is_last:
                return


def die_with_zygote():
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL, None)


def forget_clocks():
    names = globals()
    for name in "clock_gettime_ns", "monotonic_ns":
        names.pop(name, None)


def child(fds, cpu_seconds, address_space):
    die_with_zygote()
    forget_clocks()
    os.dup2(fds[0], SOCKET)
    for number, fd in enumerate(fds[1:]):
        os.dup2(fd, number)
    os.closerange(SOCKET + 1, 64)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if len(fds) > 1:
        # Programs with standard streams of their own may recurse deeply, as on the judges that they are written for.
        resource.setrlimit(resource.RLIMIT_STACK, (MAX_STACK, MAX_STACK))
    hide_streams()
    if prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, FILTER) != 0:
        os._exit(99)
    serve()
    os._exit(0)
