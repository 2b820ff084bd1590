"""An environment whose functions, classes and constants are defined in many ways, all of which have to be written as source."""

import collections
import enum
import functools
import math
from math import sqrt

import verifiers as vf
from datasets import Dataset


class Kind(enum.Enum):
    A = "a"
    B = "b"


TABLE = {Kind.A: (1, 2.5, None), "x": [float("nan"), {1, 2}, frozenset({3})], Ellipsis: b"\x00", -1: -0.5}


@functools.lru_cache
def cached(number):
    return number * 2


def made():
    seen = 3

    def factorial(number):
        return 1 if number < 2 else number * factorial(number - 1)

    class Local:
        def value(self):
            return seen + factorial(3)

    return Local()


class Base:
    one = 1

    @staticmethod
    def static(number):
        return number + 1

    @classmethod
    def of_class(cls, number):
        return cls.one + number

    @property
    def held(self):
        return self._held


class Child(Base):
    def __init__(self):
        self._held = [1, 2]
        self.function = lambda number: number + 1

    def __call__(self, number):
        return super().static(number)

    def method(self, completion):
        return self.held[0]


local, child = made(), Child()
static, of_class = Base.static, Child.of_class
second = lambda pair: pair[1]  # noqa: E731


def summed(numbers, *, key=lambda number: number, more=TABLE["x"][1]):
    return sum(key(number) for number in numbers) + len(more)


def forms(completion, *rest, **named):
    kind = Kind("a")
    values = [cached(2), local.value(), child.held[1], child.function(1), child(2), static(1), of_class(1), summed([1, 2])]
    values += [TABLE[kind][1], sqrt(4), collections.Counter("aab")["a"], math.pi, [(lambda: at)() for at in range(3)][-1]]
    return sum(values) + TABLE[-1]


def attributes(completion):
    return second((0, 5)) if completion[0].content and completion[-1].reasoning_content is None else 0


def columns(question):
    return len(question)


def load_environment():
    dataset = Dataset.from_list([{"question": "?", "answer": "1"}])
    functions = [forms, attributes, columns, lambda completion: "a" in completion[0]["content"], child.method]
    return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric(functions))
