# Writes Python values as source: functions and classes from their own text, with whatever they use, constants by value. Nothing
# is pickled. What cannot be written as source that runs in the sandbox is refused.

import __future__
import ast
import builtins
import dis
import enum
import functools
import importlib
import inspect
import itertools
import logging
import math
import re
import sys
import types

PACKAGES = ("numpy", "sympy")
# Modules of the standard library that the sandbox cannot load, or whose only use is what it refuses.
NO_MODULES = {
    "asyncio", "ctypes", "ftplib", "http", "multiprocessing", "shutil", "smtplib", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "urllib.request", "webbrowser",
}
NO_BUILTINS = {
    "open": "opens files, and a reward has none",
    "input": "reads standard input, and a reward has none",
    "__import__": "imports by a name that is not known beforehand",
    **dict.fromkeys(("eval", "exec", "compile"), "evaluates text: a reward of your own may run code with `execute(code, stdin)`"),
}
LITERALS = (type(None), bool, int, str, bytes, type(...))
ANNOTATIONS = __future__.annotations.compiler_flag


class Refused(Exception):
    pass


def names_used(node):
    """The names that `node`, a function or class, takes from around it."""
    module = ast.Module([node] if isinstance(node, ast.stmt) else [ast.Expr(node)], [])
    code = compile(ast.fix_missing_locations(module), "<source>", "exec", flags=ANNOTATIONS, dont_inherit=True)
    used, codes = {}, [code]
    while codes:
        code = codes.pop()
        steps = list(dis.get_instructions(code))
        own = {step.argval for step in steps if step.opname == "STORE_NAME"} if code.co_name != "<module>" else set()
        found = (step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
        used.update(dict.fromkeys(name for name in found if name not in own and name not in ("__name__", "__qualname__")))
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return list(used)


def bare(node):
    """Drops annotations and docstrings."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            inner.annotation = None
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner.returns = None
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]


def text_of(value):
    """The syntax tree of the file that defines `value`."""
    try:
        return ast.parse("".join(inspect.findsource(value)[0]))
    except (OSError, TypeError, SyntaxError):
        raise Refused("its source cannot be read") from None


def function_node(function):
    code = function.__code__
    is_lambda = code.co_name == "<lambda>"
    kinds = ast.Lambda if is_lambda else (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {}
    for node in ast.walk(text_of(function)):
        if isinstance(node, kinds):
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
            if first == code.co_firstlineno and (is_lambda or node.name == code.co_name):
                found[ast.dump(node)] = node
    if len(found) != 1:
        raise Refused(f"{len(found)} functions begin where it does: its source is not certain")
    return found.popitem()[1]


def class_node(cls):
    nodes = [text_of(cls)]
    for name in cls.__qualname__.split(".<locals>")[-1].strip(".").split("."):
        scope = (inner for node in nodes for inner in ast.walk(node))
        nodes = [node for node in scope if isinstance(node, ast.ClassDef) and node.name == name]
    if len(nodes) != 1:
        raise Refused(f"{len(nodes)} classes have its name: its source is not certain")
    return nodes[0]


# The root of the environment's own module, when it is known.
ENVIRONMENT = set()


def is_own(module):
    """Whether the text of a module may be taken: the library's, and what is not installed or the environment itself."""
    root = (module or "").split(".")[0]
    file = getattr(sys.modules.get(root), "__file__", None) or next(iter(getattr(sys.modules.get(root), "__path__", [])), None)
    if root == "verifiers" or root in ENVIRONMENT:
        return True
    installed = file is None or {"site-packages", "dist-packages"} & set(file.replace("\\", "/").split("/"))
    return not installed and root not in sys.stdlib_module_names and root not in PACKAGES


def definition(text):
    """A statement of which parts are to be replaced, with the fields that this version of Python wants."""
    return ast.parse(text).body[0]


class Source:
    def __init__(self):
        self.packages, self.body = set(), []
        # What each name stands for, and the name of each value that has one.
        self.values, self.names = {}, {}
        # From the function that was asked for to what is being written, for messages.
        self.path = []

    def attempt(self, write):
        """What `write` returns; what it wrote is taken back if it is refused."""
        kept = len(self.body), dict(self.values), dict(self.names), set(self.packages), list(self.path)
        try:
            return write()
        except (Refused, RecursionError) as refusal:
            through = "".join(f"`{name}`: " for name in self.path[len(kept[4]):])
            self.values, self.names, self.packages, self.path = kept[1:]
            del self.body[kept[0]:]
            said = str(refusal) if isinstance(refusal, Refused) else "is nested too deeply"
            raise Refused(through + said) from None

    def imported(self, module, what=""):
        """Refuses a module that the sandbox does not have."""
        root = module.split(".")[0]
        if root in PACKAGES:
            self.packages.add(root)
        elif root not in sys.stdlib_module_names:
            raise Refused(f"needs {what}the package `{root or module}`: the standard library, numpy and sympy are valid")
        elif root in NO_MODULES or module in NO_MODULES:
            raise Refused(f"needs {what}the module `{module}`, which does not work in the sandbox")

    def bind(self, name, value):
        """Makes `name` stand for `value`."""
        if name in self.values:
            other = self.values[name]
            if other is value or (type(other) is type(value) and isinstance(value, LITERALS) and other == value):
                return
            raise Refused(f"two different things are called `{name}`: rename one")
        self.values[name] = value
        self.path.append(name)
        if isinstance(value, types.ModuleType):
            self.imported(value.__name__)
            self.body.append(ast.Import([ast.alias(value.__name__, name if name != value.__name__ else None)]))
        elif id(value) in self.names:
            self.assign(name, ast.Name(self.names[id(value)], ast.Load()))
        else:
            self.assign(name, self.expression(value, name))
        self.path.pop()

    def assign(self, target, expression):
        # A definition has its name already.
        if not (isinstance(expression, ast.Name) and expression.id == target):
            place = target if isinstance(target, ast.AST) else ast.Name(target, ast.Store())
            self.body.append(ast.Assign([place], expression))

    def fresh(self, name):
        return next(made for at in itertools.count(1) if (made := f"{name}__{at}") not in self.values)

    def named(self, value, name):
        """`name` for a definition of `value`, or another one if it is taken."""
        if self.values.setdefault(name, value) is not value:
            name = self.fresh(name)
            self.values[name] = value
        self.names[id(value)] = name
        return name

    def member(self, module, name):
        self.bind(module.__name__, module)
        return ast.Attribute(ast.Name(module.__name__, ast.Load()), name, ast.Load())

    def expression(self, value, name=None):
        """An expression for `value`, which is to be called `name`."""
        if id(value) in self.names:
            return ast.Name(self.names[id(value)], ast.Load())
        if isinstance(value, enum.Enum):
            if not (value.name or "").isidentifier():
                raise Refused(f"needs {value!r}, which cannot be written as source")
            return ast.Attribute(self.expression(type(value)), value.name, ast.Load())
        if type(value) in LITERALS or (type(value) is float and math.isfinite(value)):
            return ast.Constant(value)
        if type(value) is float:
            return self.call(ast.Name("float", ast.Load()), ast.Constant(str(value)))
        if type(value) in (list, tuple):
            return {list: ast.List, tuple: ast.Tuple}[type(value)]([self.expression(one) for one in value], ast.Load())
        if type(value) is dict:
            return ast.Dict([self.expression(key) for key in value], [self.expression(one) for one in value.values()])
        if type(value) in (set, frozenset):
            # In an order that is the same at every export.
            members = ast.List([self.expression(one) for one in sorted(value, key=repr)], ast.Load())
            return self.call(self.expression(type(value)), members)
        if isinstance(value, re.Pattern):
            return self.call(self.member(re, "compile"), ast.Constant(value.pattern), ast.Constant(value.flags))
        if isinstance(value, logging.Logger):
            return self.call(self.member(logging, "getLogger"), ast.Constant(value.name))
        if isinstance(value, functools.partial):
            given = [self.expression(one) for one in (value.func, *value.args)]
            keywords = [ast.keyword(key, self.expression(one)) for key, one in value.keywords.items()]
            return ast.Call(self.member(functools, "partial"), given, keywords)
        if isinstance(value, types.MethodType):
            return ast.Attribute(self.expression(value.__self__), value.__name__, ast.Load())
        if isinstance(value, types.FunctionType) and is_own(value.__module__):
            return self.function(value, name)
        if isinstance(value, type) and is_own(value.__module__):
            return self.type(value)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self.foreign(value)
        # A function with a cache, which each completion would find empty.
        if callable(value) and isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            return self.expression(value.__wrapped__, name)
        return self.instance(value, name)

    def call(self, function, *given):
        return ast.Call(function, list(given), [])

    def foreign(self, value):
        """A class or function of a module that the sandbox has."""
        module, own = getattr(value, "__module__", None) or "", value.__name__
        if module == "builtins":
            if own in NO_BUILTINS:
                raise Refused(f"calls `{own}`, which {NO_BUILTINS[own]}")
            return ast.Name(own, ast.Load())
        if not module:
            raise Refused(f"needs `{own}`, which cannot be written as source")
        self.imported(module, f"`{own}` of ")
        if getattr(importlib.import_module(module), own, None) is not value:
            raise Refused(f"needs `{value.__qualname__}`, which cannot be imported from `{module}`")
        name = self.named(value, own)
        self.body.append(ast.ImportFrom(module, [ast.alias(own, name if name != own else None)], 0))
        return ast.Name(name, ast.Load())

    def function(self, function, name=None):
        node = function_node(function)
        bare(node)
        # By value: what a decorator made of the function is a value of its own.
        node.decorator_list = []
        arguments = node.args
        arguments.defaults = [self.expression(one) for one in function.__defaults__ or ()]
        by_keyword = function.__kwdefaults__ or {}
        arguments.kw_defaults = [
            self.expression(by_keyword[one.arg]) if one.arg in by_keyword else None for one in arguments.kwonlyargs
        ]
        cells = dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ())))
        if isinstance(node, ast.Lambda):
            body = [ast.Return(node.body)]
            node = definition("def function(): pass")
            node.name, node.args, node.body = name or "function", arguments, body
        if not cells:
            # The name first, so that functions can call each other.
            node.name = self.named(function, node.name)
            self.needs(node, cells, function.__globals__)
            self.body.append(node)
            return ast.Name(node.name, ast.Load())
        # A function made in another one, whose variables it has: they become parameters of a function around it.
        self.needs(node, cells, function.__globals__)
        given = {variable: one for variable, one in cells.items() if one is not function}
        values = [self.expression(one, variable) for variable, one in given.items()]
        maker = definition(f"def {self.fresh('make_' + node.name)}({', '.join(given)}): pass")
        maker.body = [node, ast.Return(ast.Name(node.name, ast.Load()))]
        self.values[maker.name] = maker
        self.body.append(maker)
        made = self.named(function, self.fresh(node.name))
        self.assign(made, self.call(ast.Name(maker.name, ast.Load()), *values))
        return ast.Name(made, ast.Load())

    def type(self, cls):
        node = class_node(cls)
        bare(node)
        around = {}
        # Of a class made in a function, whose variables its methods have.
        for member in vars(cls).values():
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(function, types.FunctionType):
                cells = zip(function.__code__.co_freevars, function.__closure__ or ())
                around.update((name, cell.cell_contents) for name, cell in cells if name != "__class__")
        node.name = self.named(cls, node.name)
        for name in names_used(node):
            if name in around:
                self.bind(name, around[name])
        self.needs(node, around, vars(sys.modules[cls.__module__]))
        self.body.append(node)
        return ast.Name(node.name, ast.Load())

    def instance(self, value, name):
        """An object of a class that can be written: made without its constructor, with the attributes that it has now."""
        kind = type(value)
        article = f"a value of the type `{kind.__name__}`"
        if not is_own(kind.__module__):
            self.imported(kind.__module__, f"{article} of ")
        if not is_own(kind.__module__) or not hasattr(value, "__dict__") or isinstance(value, LITERALS + (float, list, tuple, dict, set)):
            raise Refused(f"needs {article}, which cannot be written as source")
        made = self.call(ast.Attribute(ast.Name("object", ast.Load()), "__new__", ast.Load()), self.expression(kind))
        called = self.named(value, name or self.fresh(kind.__name__.lower()))
        self.assign(called, made)
        for attribute, held in vars(value).items():
            place = ast.Attribute(ast.Name(called, ast.Load()), attribute, ast.Store())
            self.path.append(f"{called}.{attribute}")
            self.assign(place, self.expression(held))
            self.path.pop()
        return ast.Name(called, ast.Load())

    def needs(self, node, cells, around):
        """Writes what `node` uses of `around`, the variables of its module, other than `cells`."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Global) or (isinstance(inner, ast.Nonlocal) and set(inner.names) & set(cells)):
                raise Refused(f"changes `{inner.names[0]}`, and nothing is kept from one answer to the next")
            if isinstance(inner, ast.Import):
                for alias in inner.names:
                    self.imported(alias.name)
            elif isinstance(inner, ast.ImportFrom):
                self.imported("." * inner.level + (inner.module or ""), f"`{inner.names[0].name}` of ")
        Members(self, cells, around).visit(node)
        for name in names_used(node):
            if name in cells:
                continue
            if name in around:
                self.bind(name, around[name])
            elif hasattr(builtins, name):
                if name in NO_BUILTINS:
                    raise Refused(f"calls `{name}`, which {NO_BUILTINS[name]}")
                # Functions of another module may call something else so.
                if self.values.setdefault(name, getattr(builtins, name)) is not getattr(builtins, name):
                    raise Refused(f"two different things are called `{name}`: rename one")
            elif name not in self.values:
                raise Refused(f"uses `{name}`, which is not defined")


class Members(ast.NodeTransformer):
    """Replaces members of modules that the sandbox does not have, such as `vf.XMLParser`, by the members' own names."""

    def __init__(self, source, cells, around):
        self.source, self.around = source, {**around, **cells}

    def visit_AnnAssign(self, node):
        if node.value:
            node.value = self.visit(node.value)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        base = node.value
        module = self.around.get(base.id) if isinstance(base, ast.Name) else None
        if not isinstance(module, types.ModuleType) or not is_own(module.__name__) or not hasattr(module, node.attr):
            return node
        name = f"{base.id}_{node.attr}"
        self.source.bind(name, getattr(module, node.attr))
        return ast.copy_location(ast.Name(name, node.ctx), node)
