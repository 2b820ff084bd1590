# Encodes values to leave the sandbox; value/decode.rs reads the format.
#
# Handles exact types only, so that no method of a program's own class is ever called. The encoder serves honest
# programs: it shares the process with the program, so security does not rely on it.

from collections import Counter, OrderedDict, defaultdict, deque
from hashlib import sha256
from marshal import dumps
from pickle import EMPTY_SET, FROZENSET, Pickler
from struct import pack

MAX_DEPTH = 100
MAX_INT_BITS = 1 << 17
# Before a name and the parts of a value that crosses as a copy (copies.py), where a test asks for that.
MARK = "\0lyceum"
MARK_IN_TEXT = "x00lyceum"
COPIED = {}
COPIES = [False]


class Unserialisable(Exception):
    pass


class TooLarge(Unserialisable):
    pass


def encode(value, lenient, max_bytes):
    out = []
    put(value, out.append, 0, lenient, [max_bytes])
    return b"".join(out)


def digest(value):
    # A value that is too large to leave, as a hash of its type and contents. Pickle takes half the time of marshal, and
    # the time counts as the program's. But only marshal sorts sets and never calls a method of a program's own class.
    kind = type(value)
    state = sha256(kind.__name__.encode())
    try:
        Plain(state).dump(value)
        return state.digest()
    except (NotPlain, RecursionError, ValueError):
        state = sha256(kind.__name__.encode())
    try:
        if kind is list or kind is tuple:
            state.update(b"%d" % len(value))
            for at in range(0, len(value), 1000):
                state.update(dumps(value[at : at + 1000], 2))
        else:
            state.update(dumps(value, 2))
    except ValueError:
        raise Unserialisable("a large value of type %s" % kind.__name__) from None
    return state.digest()


class NotPlain(Exception):
    pass


class Plain(Pickler):
    # Hashes a value of strings, bytes, numbers, lists, tuples and dicts.
    SETS = EMPTY_SET, FROZENSET

    def __init__(self, state):
        self.state = state
        super().__init__(self, 4)
        # Without a memo equal values are written as equal bytes, whatever parts they share.
        self.fast = True

    def write(self, data):
        # The same bytes in a text or number cost time, but no value is taken for another.
        if any(code in data for code in self.SETS):
            raise NotPlain
        self.state.update(data)

    def reducer_override(self, value):
        raise NotPlain


def put(value, write, depth, lenient, budget):
    kind = type(value)
    if kind is int:
        if value.bit_length() > MAX_INT_BITS:
            raise Unserialisable("an integer of more than %d bits" % MAX_INT_BITS)
        data = b"I%x;" % value
    elif kind is str:
        text = value.encode("utf-8", "surrogatepass")
        data = b"S%d;%s" % (len(text), text)
    elif value is True:
        data = b"T"
    elif value is False:
        data = b"F"
    elif value is None:
        data = b"N"
    elif kind is float:
        data = pack(">cd", b"D", value)
    elif kind is list:
        data = b"L%d;" % len(value)
    elif kind is tuple:
        data = b"U%d;" % len(value)
    elif kind is dict:
        data = b"M%d;" % len(value)
    elif kind is set:
        data = b"G%d;" % len(value)
    elif kind is bytes:
        data = b"B%d;%s" % (len(value), value)
    elif kind is complex:
        data = pack(">cdd", b"Z", value.real, value.imag)
    elif kind is frozenset:
        data = b"R%d;" % len(value)
    elif kind is Counter:
        data = b"C%d;" % len(value)
    elif kind is deque:
        data = b"Q%d,%s;" % (len(value), b"" if value.maxlen is None else b"%d" % value.maxlen)
    elif value is Ellipsis:
        data = b"E"
    elif lenient and (kind is defaultdict or kind is OrderedDict):
        kind = dict
        data = b"M%d;" % len(value)
    elif lenient and kind is bytearray:
        data = b"B%d;%s" % (len(value), bytes(value))
    elif COPIES[0] and kind in COPIED:
        name, parts = COPIED[kind]
        return put((MARK, name, parts(value)), write, depth, lenient, budget)
    elif COPIES[0] and issubclass(kind, tuple) and type(getattr(kind, "_fields", None)) is tuple:
        parts = kind.__name__, kind._fields, tuple.__getitem__(value, slice(None))
        return put((MARK, "namedtuple", parts), write, depth, lenient, budget)
    elif COPIES[0] and REFERENCES[0]:
        return put(REFERENCES[0](value), write, depth, lenient, budget)
    else:
        raise Unserialisable("a value of type %s" % kind.__name__)
    budget[0] -= len(data)
    if budget[0] < 0:
        raise TooLarge("a value of too many bytes")
    write(data)
    if kind is list or kind is tuple or kind is set or kind is frozenset or kind is deque:
        if depth >= MAX_DEPTH:
            raise Unserialisable("containers nest deeper than %d" % MAX_DEPTH)
        for item in value:
            put(item, write, depth + 1, lenient, budget)
    elif kind is dict or kind is Counter:
        if depth >= MAX_DEPTH:
            raise Unserialisable("containers nest deeper than %d" % MAX_DEPTH)
        for key in value:
            put(key, write, depth + 1, lenient, budget)
            put(value[key], write, depth + 1, lenient, budget)
