"""An environment of which nothing can be exported, in several ways."""

import json
import os

import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI

client = AsyncOpenAI(api_key="none")
SEEN = []


def load_table(path):
    return json.loads(open(path).read())


def judged(prompt, completion):
    return client.chat.completions.create(messages=[*prompt, *completion])


def looked_up(completion):
    return load_table("/etc/hostname") == completion


def evaluated(completion, answer):
    return eval(completion[-1]["content"]) == answer


def imported(completion):
    import requests

    return len(requests.get("http://127.0.0.1").text)


def compared(completions):
    return [len(set(map(str, completions)))] * len(completions)


def counted(state):
    return len(state["trajectory"])


def remembered(completion):
    global SEEN
    SEEN = [*SEEN, completion]
    return len(SEEN)


def tooled(completion, sandbox):
    return sandbox.run(completion)


class Turns(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        return []


class Kept(vf.SingleTurnEnv):
    async def setup_state(self, state, **kwargs):
        return state


def load_environment(kind="rubric"):
    dataset = Dataset.from_list([{"question": "?", "answer": "1"}])
    if kind == "turns":
        return Turns(dataset=dataset)
    if kind == "kept":
        return Kept(dataset=dataset)
    if kind == "endless":
        while True:
            pass
    if kind == "ended":
        raise SystemExit(3)
    if kind == "gone":
        os._exit(4)
    if kind == "silent":
        return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric([counted], weights=[0.0]))
    if kind == "empty":
        return vf.SingleTurnEnv(dataset=Dataset.from_list([]), rubric=vf.Rubric([counted]))
    if kind == "odd":
        pictures = Dataset.from_list([{"question": "?", "answer": "1", "picture": b"\x89PNG"}])
        return vf.SingleTurnEnv(dataset=pictures, rubric=vf.Rubric([looked_up]))
    if kind == "shots":
        shots = [{"role": "user", "content": "1?"}, {"role": "assistant", "content": "1"}]
        return vf.SingleTurnEnv(dataset=dataset, few_shot=shots, rubric=vf.Rubric([lambda completion: 1.0]))
    functions = [judged, looked_up, evaluated, imported, compared, counted, remembered, tooled]
    return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric(functions))
