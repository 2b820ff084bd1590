"""Prints what the library itself gives for completions: `python scores.py ENVIRONMENT COMPLETIONS`, of each row and completion."""

import asyncio
import json
import sys

import verifiers
from verifiers.types import AssistantMessage, State, flatten_task_input
from verifiers.utils.message_utils import normalize_messages

name, completions = sys.argv[1], json.loads(sys.argv[2])
environment = verifiers.load_environment(name)
found = []
for row in environment.get_dataset():
    row = flatten_task_input(dict(row))
    for completion in completions:
        state = State(input=row)
        state["task"], state["prompt"] = row, normalize_messages(row["prompt"])
        state["completion"] = [AssistantMessage(content=completion)]
        state["trajectory"] = [None]
        asyncio.run(environment.rubric.score_rollout(state))
        found.append({"reward": state["reward"], "metrics": state["metrics"]})
print(json.dumps(found))
