# Functions that a test passes to the program. They are answered by copies in the program's process, so one that keeps or changes
# anything outside of itself is refused: the test would wait for what the copy does. Nothing here crosses from a program to its test.

from marshal import loads
from types import BuiltinFunctionType, CellType, FunctionType, MethodDescriptorType, ModuleType

UNCHANGING = int, float, complex, str, bytes, bool, type(None)
# Stands for a function in what it refers to.
ITSELF = object()


def function_parts(function, above=()):
    own = getattr(function, "program_name", None)
    if own is not None:
        return (own,)
    if function in above or len(above) >= 8:
        raise Unserialisable("functions that refer to each other in turns, or more than eight deep")
    import dis

    def unchanging(value):
        kind = type(value)
        if value is function:
            return MARK, "itself", ()
        if kind is FunctionType:
            return MARK, "function", function_parts(value, (*above, function))
        if kind is ModuleType:
            if value.__spec__ is None:
                # It stands in for the program or pytest, and the program's process has none of its name.
                raise Unserialisable("a function that refers to the module `%s`" % value.__name__)
            return MARK, "module", (value.__name__,)
        if kind is tuple or kind is frozenset:
            return kind(map(unchanging, value))
        if kind in UNCHANGING or kind in COPIED and COPIED[kind][0] != "iterator":
            return value
        raise Unserialisable("a function that refers to a value of type %s" % kind.__name__)

    code = function.__code__
    names = set()
    codes = [code]
    while codes:
        one = codes.pop()
        names.update(one.co_names)
        codes += [constant for constant in one.co_consts if type(constant) is type(code)]
        for step in dis.get_instructions(one):
            changes = step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
            if changes or step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
                raise Unserialisable("a function that changes `%s`" % step.argval)
    known = function.__globals__
    return (
        function.__name__,
        dumps(code),
        unchanging(function.__defaults__),
        tuple((name, unchanging(value)) for name, value in (function.__kwdefaults__ or {}).items()),
        tuple(unchanging(cell.cell_contents) for cell in function.__closure__ or ()),
        tuple((name, unchanging(known[name])) for name in sorted(names & known.keys())),
    )


def made_function(name, code=None, defaults=None, keyword_defaults=(), cells=(), names=()):
    if code is None:
        return target(STAGE.__dict__, name)
    made = FunctionType(loads(code), {"__builtins__": builtins}, name, defaults, tuple(map(CellType, cells)))
    made.__kwdefaults__ = dict(keyword_defaults) or None
    made.__globals__.update((name, made if value is ITSELF else value) for name, value in names)
    for cell in made.__closure__ or ():
        if cell.cell_contents is ITSELF:
            cell.cell_contents = made
    return made


def named_parts(value):
    # A function or class of the standard library, by its name.
    module = getattr(value, "__module__", None) or "builtins"
    found = None if module == STAGE.__name__ else sys.modules.get(module)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not value:
        raise Unserialisable("a value of type %s" % type(value).__name__)
    return module, value.__qualname__


def named(module, name):
    return operator.attrgetter(name)(__import__(module, fromlist=[""]))


def pass_functions():
    # In the process of a test.
    COPIED[FunctionType] = "function", function_parts
    COPIED.update(dict.fromkeys((type, BuiltinFunctionType, MethodDescriptorType), ("named", named_parts)))


def take_functions():
    # In the process of a program.
    modules = {"module": lambda name: __import__(name, fromlist=[""]), "named": named}
    MADE.update(modules, function=made_function, itself=lambda: ITSELF)
