# What tests use of pytest, which the sandbox does not hold: marks, parameters, `raises`, `approx`, and fixtures that the
# test defines itself. Everything else is refused by name.


class Mark:
    def __init__(self, name, positional=(), keyword=None):
        self.name, self.positional, self.keyword = name, positional, keyword or {}

    def __call__(self, *positional, **keyword):
        if len(positional) == 1 and not keyword and isinstance(positional[0], (type, types.FunctionType)):
            marked = positional[0]
            marked.pytestmark = [*vars(marked).get("pytestmark", ()), self]
            return marked
        return Mark(self.name, positional, keyword)


class Marks:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Mark(name)


class Parameters:
    def __init__(self, *values, marks=(), id=None):
        self.values, self.marks = values, list(marks) if isinstance(marks, (list, tuple)) else [marks]


class Skipped(BaseException):
    pass


def skip(reason="", **_):
    raise Skipped(reason)


def fail(reason="", **_):
    raise AssertionError(reason)


class Caught:
    type = value = None

    def match(self, pattern):
        if re.search(pattern, str(self.value)) is None:
            raise AssertionError("%r does not match %r" % (str(self.value), pattern))
        return True


class Raises:
    def __init__(self, expected, match):
        self.expected, self.pattern, self.caught = expected, match, Caught()

    def __enter__(self):
        return self.caught

    def __exit__(self, kind, value, _):
        if kind is None:
            raise AssertionError("nothing was raised, not %r" % (self.expected,))
        if not issubclass(kind, self.expected):
            return False
        self.caught.type, self.caught.value = kind, value
        return self.pattern is None or self.caught.match(self.pattern)


def raises(expected, *call, match=None, **keyword):
    context = Raises(expected, match)
    if not call:
        return context
    with context:
        call[0](*call[1:], **keyword)
    return context.caught


class Approximately:
    __hash__ = None

    def __init__(self, expected, rel=None, abs=None, nan_ok=False):
        self.expected, self.options = expected, (rel, abs, nan_ok)

    def __eq__(self, actual):
        return is_close(actual, self.expected, *self.options)

    def __repr__(self):
        return "approx(%r)" % (self.expected,)


def is_close(actual, expected, relative, absolute, nan_ok):
    def closes(pairs):
        return all(is_close(one, other, relative, absolute, nan_ok) for one, other in pairs)

    if isinstance(expected, dict):
        same = isinstance(actual, dict) and actual.keys() == expected.keys()
        return same and closes((actual[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple, deque)):
        same = isinstance(actual, (list, tuple, deque)) and len(actual) == len(expected)
        return same and closes(zip(actual, expected))
    if actual == expected:
        return True
    exact = bool, str, bytes, type(None)
    if not isinstance(expected, numbers.Number) or isinstance(expected, exact) or isinstance(actual, exact):
        return False
    try:
        if expected != expected:
            return nan_ok and actual != actual
        if abs(expected) == math.inf:
            return False
        number = decimal.Decimal if isinstance(expected, decimal.Decimal) else lambda text: float(text)
        least = number(str(1e-12 if absolute is None else absolute))
        # An absolute tolerance without a relative one replaces the relative one.
        share = 0 if relative is None and absolute is not None else number(str(1e-6 if relative is None else relative))
        return abs(expected - actual) <= max(least, share * abs(expected))
    except TypeError:
        return False


def fixture(function=None, **options):
    def made(function):
        function.fixture = options
        return function

    return made if function is None else made(function)


def fixture_options(value):
    return getattr(value, "fixture", None) if isinstance(value, (types.FunctionType, types.MethodType)) else None


class Captured:
    def __init__(self):
        self.out = io.StringIO()

    def readouterr(self):
        text = self.out.getvalue()
        self.out.seek(0)
        self.out.truncate()
        return collections.namedtuple("CaptureResult", "out err")(text, "")


def capsys():
    before, captured = sys.stdout, Captured()
    sys.stdout = captured.out
    yield captured
    sys.stdout = before


def pytest_module():
    module = types.ModuleType("pytest")
    module.mark, module.param, module.fixture, module.approx = Marks(), Parameters, fixture, Approximately
    module.raises, module.skip, module.fail, module.xfail = raises, skip, fail, skip
    module.main = lambda *_, **__: 0

    def missing(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unjudgeable("it uses `pytest.%s`, which is not offered" % name)

    module.__getattr__ = missing
    return module


def is_skipped(marks):
    for mark in marks:
        if mark.name in ("skip", "xfail"):
            return True
        if mark.name == "skipif" and any(mark.positional):
            return True
    return False


def parameter_sets(marks, name):
    # The values of each run, by the names of parameters.
    sets = [{}]
    for mark in marks:
        if mark.name != "parametrize":
            continue
        named, rows, *_ = (*mark.positional, *(mark.keyword[key] for key in ("argnames", "argvalues") if key in mark.keyword))
        if mark.keyword.get("indirect"):
            raise Unjudgeable("`%s` gives parameters to fixtures (`indirect`), which is not offered" % name)
        named = [part.strip() for part in named.split(",") if part.strip()] if isinstance(named, str) else list(named)
        given = []
        for row in rows:
            if isinstance(row, Parameters):
                if is_skipped(row.marks):
                    continue
                row = row.values
            elif len(named) == 1:
                row = (row,)
            if len(row) != len(named):
                raise Unjudgeable("`%s` has %d parameters and is given %d values" % (name, len(named), len(row)))
            given.append(dict(zip(named, row)))
        sets = [{**one, **other} for other in given for one in sets]
    return sets
