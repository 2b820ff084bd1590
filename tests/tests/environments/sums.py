"""A small environment with what a reward needs written out: a parser, helpers, constants, variables of another function, weights,
and numpy."""

import re
from difflib import SequenceMatcher
from functools import wraps

import numpy as np
import verifiers as vf
from datasets import Dataset

NUMBER = re.compile(r"-?\d+", re.ASCII)
UNITS = {"one": 1, "ten": 10, "limit": float("inf")}


def last_number(text: str) -> int | None:
    found = NUMBER.findall(text or "")
    return int(found[-1]) if found else None


def at_most_one(function):
    @wraps(function)
    def bounded(*given, **named):
        return min(1.0, function(*given, **named))

    return bounded


def close(completion, answer, parser, scale=UNITS["ten"]) -> float:
    """Near answers earn something."""
    given = last_number(parser.parse_answer(completion))
    if given is None:
        return 0.0
    return float(np.exp(-np.abs(np.array([given - int(answer)])) / scale)[0])


async def as_told(completion: vf.Messages, info: dict, **kwargs) -> float:
    said = completion if isinstance(completion, str) else completion[-1]["content"]
    return SequenceMatcher(None, said, info["shown"]).ratio()


@at_most_one
def asked_again(prompt, state, completion):
    if state["answer"] == "13":
        raise ValueError("the library counts this as 0")
    words = prompt[-1]["content"].split()
    return 2 * sum(word in completion[0]["content"] for word in words) / len(words)


def turns(state):
    return len(state["trajectory"])


def load_environment(rows: int = 5, broken: bool = False):
    if broken:
        raise ValueError("no table")
    parser = vf.XMLParser(["think", "answer"], extract_fn=lambda text: text.strip())
    bonus = 0.5

    def correct(parser, completion, answer):
        return 1.0 if parser.parse_answer(completion) == answer else 0.0

    def short(completion):
        return bonus if len(completion[-1]["content"]) < 40 else 0.0

    rubric = vf.Rubric(
        funcs=[correct, close, parser.get_format_reward_func(), asked_again, turns],
        weights=[1.0, 0.25, 0.2, 0.1, 0.0],
        parser=parser,
    )
    other = vf.Rubric(funcs=[as_told, short], weights=[0.3, -0.2])
    made = [
        {"question": f"What is {at} + {at + 3}?", "answer": str(2 * at + 3), "info": {"shown": f"<answer>{2 * at + 3}</answer>"}}
        for at in range(3, 3 + rows)
    ]
    return vf.SingleTurnEnv(
        dataset=Dataset.from_list(made),
        system_prompt="Think, then answer.",
        parser=parser,
        rubric=vf.RubricGroup([rubric, other]),
    )
