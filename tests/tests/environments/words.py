"""An environment that needs nothing but the library's parser. Its words are few, so that its scores can be computed by hand."""

import re
from dataclasses import dataclass, field
from functools import partial, wraps

import verifiers as vf
from datasets import Dataset

WORD = re.compile(r"[a-z]+", re.IGNORECASE)


@dataclass
class Prices:
    of: dict = field(default_factory=dict)
    other: float = float("inf")

    def price(self, word):
        return self.of.get(word.lower(), self.other)


class Shouting(vf.Parser):
    """A parser of one's own."""

    def parse(self, text):
        return super().parse(text).upper()


prices = Prices({"tea": 0.25, "milk": 0.5})


def is_even(number):
    return number == 0 or is_odd(number - 1)


def is_odd(number):
    return number != 0 and is_even(number - 1)


def doubled(function):
    @wraps(function)
    def inner(*given, **named):
        return 2 * function(*given, **named)

    return inner


def within(limit, completion):
    return len(completion[-1]["content"]) <= limit


def cheap(completion):
    """The prices of all words, at most 1 each."""
    words = WORD.findall(completion[-1]["content"])
    return sum(min(1.0, prices.price(word)) for word in words)


@doubled
def even(completion):
    return is_even(len(WORD.findall(completion[-1]["content"])))


@doubled
def shouted(completion, parser):
    return parser.parse_answer(completion) == completion[-1]["content"]


async def told(answer, info, state, **kwargs):
    return (kwargs["completion"][0]["content"] == answer) + (state["info"]["kind"] == info["kind"])


def fails(completion):
    return 1 / len(completion[-1]["content"].split("tea")[1:])


def load_environment():
    limit = 12
    short = partial(within, limit)
    short.__name__ = "short"

    def correct(completion, answer):
        return answer in completion[-1]["content"]

    functions = [correct, cheap, even, shouted, told, fails, short]
    rubric = vf.Rubric(functions, [2.0, 1.0, 0.5, 1.0, 0.25, 1.0, -1.0], parser=Shouting())
    rows = [{"question": "What is hot?", "answer": "tea", "info": {"kind": "drink"}}]
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=vf.RubricGroup([rubric]), system_prompt="Be short.")
