# Objects of the program's own classes, and its functions: they stay in the program's process, and a test has stand-ins for them.
#
# `f(x) - 3` or `f(x).startswith("a")`, asked of an object that a program returns in place of a number or a text, would leave the
# verdict to the program. So an object that the test did not make by naming its class is asked only for what no plain value has,
# and whether two values are equal is never asked of the program but where the test made both.

REFERENCES = [None]
# In the process of a program.
HELD, NUMBERS = [], {}


def held(value):
    kind = type(value)
    is_own = kind.__module__ == STAGE.__name__
    if issubclass(kind, type) or not is_own and not callable(value):
        raise Unserialisable("a value of type %s" % kind.__name__)
    number = NUMBERS.setdefault(id(value), len(HELD))
    if number == len(HELD):
        HELD.append(value)
    return MARK, "held", (number, tuple(base.__name__ for base in kind.__mro__[:-1]))


def give_references():
    REFERENCES[0] = held
    MADE["held"] = HELD.__getitem__


# In the process of a test.
STAND_INS = {}
# Names that plain values have.
PLAIN = set()
# Those that say whether something holds. A function may have a capital letter, and a program a class in its place.
TRUTHS = set()


def stand_in(number, bases, made=False):
    if (number, made) not in STAND_INS:
        one = object.__new__(type(bases[0], (Made if made else Held,), {}))
        one.__dict__.update(__lyceum_number__=number, __lyceum_bases__=bases)
        STAND_INS[number, made] = one
    return STAND_INS[number, made]


class Held:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in TRUTHS or name in PLAIN and not isinstance(self, Made):
            raise AttributeError("`%s` is not asked of an object in place of a plain value" % name)
        return remote("(getattr)")(self, name)

    def __setattr__(self, name, value):
        remote("(setattr)")(self, name, value)

    def __call__(self, *positional, **keyword):
        return remote("(lambda one, *positional, **keyword: one(*positional, **keyword))")(self, *positional, **keyword)

    def __eq__(self, other):
        if not isinstance(other, Held):
            return NotImplemented
        if self.__lyceum_number__ == other.__lyceum_number__:
            return True
        if isinstance(self, Made) and isinstance(other, Made):
            return remote("(lambda one, other: one == other)")(self, other)
        if self.__lyceum_bases__ != other.__lyceum_bases__:
            return False
        fields = fields_of(self)
        return fields is not None and fields == fields_of(other)

    def __hash__(self):
        return hash(self.__lyceum_bases__)


def fields_of(one):
    # Of a data class.
    return remote(
        "(lambda one: [getattr(one, name) for name, field in one.__dataclass_fields__.items() if field.compare]"
        " if hasattr(type(one), '__dataclass_fields__') else None)"
    )(one)


class Made(Held):
    def __exit__(self, kind, error, _):
        if error is not None:
            raise Unjudgeable("an exception leaves a `with` over an object of the program")
        return remote("(lambda one: one.__exit__(None, None, None))")(self)

    def __next__(self):
        for item in remote("(lambda one: [item for item, _ in zip(one, '1')])")(self):
            return item
        raise StopIteration


def asked(text, other=None):
    ask = remote("(lambda one, *other: %s)" % text)

    def operation(self, *given):
        if other and not isinstance(given[0], other):
            return NotImplemented
        return ask(self, *given)

    return operation


def add_operations():
    for name, text in {
        "enter": "one.__enter__()",
        "iter": "(item for item in one)",
        "getitem": "one[other[0]]",
        "setitem": "one.__setitem__(*other)",
        "delitem": "one.__delitem__(*other)",
        "len": "len(one)",
        "bool": "bool(one)",
        "str": "str(one)",
        "repr": "repr(one)",
        "neg": "-one",
        "abs": "abs(one)",
    }.items():
        setattr(Made, "__%s__" % name, asked(text))
    arithmetic = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "matmul": "@", "and": "&", "or": "|", "xor": "^"}
    for name, sign in arithmetic.items():
        setattr(Made, "__%s__" % name, asked("one %s other[0]" % sign, Held))
    for name, sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        setattr(Made, "__%s__" % name, asked("one %s other[0]" % sign, Made))


class ProgramClass(type):
    # Stands for a class of the program. A test that expects an exception of it gets one of a class derived from this one.
    def __call__(cls, *positional, **keyword):
        if CLASSES.get(cls.__name__) is not cls:
            return type.__call__(cls, *positional, **keyword)
        one = remote(cls.__name__)(*positional, **keyword)
        # A function's name is in lower case: an object in place of its value is not one that the test makes.
        if isinstance(one, Held) and cls.__name__[0].isupper():
            return stand_in(one.__lyceum_number__, one.__lyceum_bases__, True)
        return one

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return remote("(lambda name: getattr(%s, name))" % cls.__name__)(name)

    def __getitem__(cls, key):
        return remote("(lambda key: %s[key])" % cls.__name__)(key)

    def __iter__(cls):
        return iter(remote("(lambda: [*%s])" % cls.__name__)())

    def __instancecheck__(cls, one):
        if isinstance(type(one), ProgramClass):
            return type.__instancecheck__(cls, one)
        return issubclass(type(one), Held) and cls.__name__ in one.__lyceum_bases__


def referred(value):
    kind = type(value)
    if issubclass(kind, Held):
        return MARK, "held", (value.__lyceum_number__,)
    if kind is ProgramClass:
        return MARK, "function", (value.__name__,)
    raise Unserialisable("a value of type %s" % kind.__name__)


def take_references():
    REFERENCES[0] = referred
    MADE["held"] = stand_in
    add_operations()
    for kind in *UNCHANGING, list, dict, set, Counter, deque, *COPIED:
        PLAIN.update(dir(kind))
    TRUTHS.update(name for name in PLAIN if name.startswith("is") or name in ("startswith", "endswith"))
