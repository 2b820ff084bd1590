# Tests of a program: HumanEval's `check`, assertions, pytest's functions and classes, unittest's cases. This process holds
# no line of the program, only stand-ins for its functions.

import inspect
from ast import literal_eval

ASSERTED = [0]


class Unjudgeable(BaseException):
    pass


def asserted():
    ASSERTED[0] += 1


# Stand for classes of the program.
CLASSES = {}


def program_class(name):
    def refuse(self, *_, **__):
        raise Unjudgeable("it derives a class from `%s`, a class of the program" % name)

    return ProgramClass(name, (Exception,), {"__init__": refuse})


def exception(own, name, text):
    # An exception of the program, as the test gets it.
    kind = getattr(builtins, name, None)
    # A StopIteration would only end a loop of the test, such as `all(map(candidate, inputs))`.
    stops = StopIteration, StopAsyncIteration
    known = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, stops)
    if not known:
        return RuntimeError(text)
    arguments = [text] if text else []
    if kind is KeyError and text:
        # Its message is the repr of its argument.
        try:
            arguments = [literal_eval(text)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    if own in CLASSES:
        kind = ProgramClass(own, (CLASSES[own], kind), {"__init__": kind.__init__})
    for base in kind.__mro__:
        if base is CLASSES.get(own):
            continue
        try:
            return base(*arguments)
        except TypeError:
            # For example a UnicodeDecodeError, which is not made of a message.
            pass


def remote(name):
    # Stands for a function of the program under test, which runs in another process: arguments go out, a value comes
    # back.
    def call(*positional, **keyword):
        try:
            data = encode((name, positional, keyword), True, MAX_ARGUMENTS)
        except Unserialisable as error:
            raise Unjudgeable("the test passes " + str(error)) from None
        answer(b"C", data)
        reply = request()
        if reply is None:
            raise Unjudgeable("the program ended")
        if "error" in reply:
            raise exception(reply["class"], reply["error"], reply["text"])
        value = restored_from(reply["value"], eval(compiled(reply["value"], "<value>", "eval"), literal_names()))
        return value.written_to((*positional, *keyword.values())) if type(value) is Changed else value

    call.program_name = name
    return call


class Solution:
    # Stands for the program's class of this name: every call is made on a new instance.
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return remote(name)


def add_program_module(name, members, starred):
    # The program as a module of this name, unless there is another, and the packages that it is said to lie in.
    top, *rest = name.split(".")
    try:
        __import__(top)
        return
    except ImportError:
        pass

    def missing(member):
        if member.startswith("__"):
            raise AttributeError(member)
        raise ImportError("the program has no function `%s`" % member)

    for part in rest:
        sys.modules[top] = types.ModuleType(top)
        top += "." + part
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(members, __all__=starred, __getattr__=missing)


def script(message):
    COPIES[0] = True
    pass_functions()
    take_references()
    names, entry_point, test = STAGE.__dict__, message["entry_point"], message["test"]
    exec(compiled(message["support"], "<prompt>"), names)
    known = {*names, *dir(builtins)} - {entry_point}
    CLASSES.update((name, program_class(name)) for name in message["classes"])
    members = {**{name: remote(name) for name in message["functions"]}, **CLASSES}
    if "Solution" in CLASSES:
        members["Solution"] = Solution
    names.update((name, members[name]) for name in message["remote"] if name not in known)
    names["candidate"] = names[entry_point]
    names["__lyceum_asserted__"] = asserted
    names["__file__"] = "/test_solution.py"
    starred = [name for name in message["starred"] if name not in known]
    for name in message["modules"]:
        add_program_module(name, members, starred)
    if "pytest" in test:
        sys.modules["pytest"] = pytest_module()
    if "unittest" in test:
        import unittest

        # The cases are run below.
        unittest.main = lambda *_, **__: None
        # Its module cannot be loaded here. Cases that are no coroutines need nothing of it.
        unittest.IsolatedAsyncioTestCase = unittest.TestCase
    before = dict(names)
    exec(compiled(test, "<test>"), names)
    if "check" in names and message["calls_check"]:
        names["check"](names["candidate"])
    given = {id(value) for value in (*members.values(), *before.values())}
    run_tests({name: value for name, value in names.items() if id(value) not in given}, names)
    return b"V", encode(ASSERTED[0], False, MAX_ARGUMENTS)


def run_tests(defined, names):
    has_asserted = ASSERTED[0] > 0
    cases = getattr(sys.modules.get("unittest"), "TestCase", ())
    call_if_there(names, "setUpModule")
    call_if_there(names, "setup_module", STAGE)
    marks = marks_of(names)
    for name, value in defined.items():
        if isinstance(value, type):
            if issubclass(value, cases):
                run_cases(value, names)
            elif is_test_class(name, value):
                run_class(value, marks, names)
        elif name.startswith("test") and callable(value) and fixture_options(value) is None:
            call_if_there(names, "setup_function", value)
            run_function(name, value, marks, Fixtures(names), has_asserted)
            call_if_there(names, "teardown_function", value)


def is_test_class(name, value):
    is_plain = isinstance(value, type) and value.__init__ is object.__init__
    return name.startswith("Test") and is_plain and value.__module__ == STAGE.__name__


def call_if_there(holder, name, argument=None):
    function = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
    if function is not None:
        function(*[argument][: len(parameters_of(function))])


def parameters_of(function):
    # The names of the parameters that must be given.
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is one.empty and one.kind not in kinds]


def marks_of(holder):
    marks = holder.get("pytestmark", []) if isinstance(holder, dict) else getattr(holder, "pytestmark", [])
    return list(marks) if isinstance(marks, (list, tuple)) else [marks]


def run_cases(kind, names):
    unittest = sys.modules["unittest"]
    try:
        kind.setUpClass()
        for name in unittest.TestLoader().getTestCaseNames(kind):
            refuse_unless_plain(name, getattr(kind, name))
            case = kind(name)
            fails = getattr(kind, "__unittest_expecting_failure__", False)
            if not (fails or getattr(getattr(kind, name), "__unittest_expecting_failure__", False)):
                fixtures = Fixtures(names, case)
                try:
                    for one in fixtures.automatic():
                        fixtures.value(one)
                    case.debug()
                except unittest.SkipTest:
                    pass
                fixtures.finish()
        kind.tearDownClass()
    except unittest.SkipTest:
        pass


def run_class(kind, marks, names):
    call_if_there(kind, "setup_class")
    marks = marks + marks_of(kind)
    methods = {name: None for base in reversed(kind.__mro__) for name in vars(base) if name.startswith("test")}
    for name in methods:
        if callable(getattr(kind, name)):
            instance = kind()
            method = getattr(instance, name)
            call_if_there(instance, "setup_method", method)
            run_function(name, method, marks, Fixtures(names, instance))
            call_if_there(instance, "teardown_method", method)
    for name, value in vars(kind).items():
        if is_test_class(name, value):
            run_class(value, marks, names)
    call_if_there(kind, "teardown_class")


def refuse_unless_plain(name, function):
    # Called like a function, these would do nothing.
    if inspect.iscoroutinefunction(function):
        raise Unjudgeable("`%s` is asynchronous, which is not offered" % name)
    if inspect.isgeneratorfunction(function):
        raise Unjudgeable("`%s` is a generator, which is not offered" % name)


def run_function(name, function, marks, fixtures, may_be_helper=False):
    marks = marks + marks_of(function)
    if is_skipped(marks):
        return
    refuse_unless_plain(name, function)
    wanted = parameters_of(function)
    used = [one for mark in marks if mark.name == "usefixtures" for one in mark.positional]
    for parameters in parameter_sets(marks, name):
        asked = [one for one in wanted if one not in parameters]
        unknown = next((one for one in [*used, *asked] if not fixtures.has(one)), None)
        if unknown is not None:
            if may_be_helper:
                # A script that has asserted something by itself calls its own functions.
                return
            raise Unjudgeable("`%s` asks for the fixture `%s`, which the test does not define" % (name, unknown))
        try:
            values = {one: fixtures.value(one) for one in [*fixtures.automatic(), *used, *asked]}
            function(**parameters, **{one: values[one] for one in asked})
        except Skipped:
            pass
        fixtures.finish()


class Fixtures:
    # Fixtures that the test defines, each made anew for every run.
    def __init__(self, names, instance=None):
        self.known = {"candidate": lambda: names["candidate"], "capsys": capsys}
        members = [(name, value) for base in type(instance).__mro__[::-1] for name, value in vars(base).items()]
        for name, value in [*names.items(), *members]:
            if fixture_options(value) is not None:
                bound = value if instance is None else getattr(instance, name, value)
                self.known[value.fixture.get("name") or name] = bound
        self.values, self.open = {}, []

    def has(self, name):
        return name in self.known

    def automatic(self):
        return [name for name, value in self.known.items() if (fixture_options(value) or {}).get("autouse")]

    def value(self, name):
        if name not in self.values:
            function = self.known.get(name)
            if function is None or (fixture_options(function) or {}).get("params"):
                raise Unjudgeable("the fixture `%s` is not offered" % name)
            made = function(**{one: self.value(one) for one in parameters_of(function)})
            if inspect.isgenerator(made):
                self.open.append(made)
                made = next(made)
            self.values[name] = made
        return self.values[name]

    def finish(self):
        while self.open:
            next(self.open.pop(), None)
        self.values.clear()


HANDLERS["script"] = script
