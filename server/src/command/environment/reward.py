# How the library calls the functions of a rubric.
class Message(dict):
    def __getattr__(self, name):
        if name in self or name in ("reasoning_content", "thinking_blocks", "tool_calls"):
            return self.get(name)
        raise AttributeError(name)


class State(dict):
    def __missing__(self, key):
        raise NameError(f"`state[{key!r}]` is not known after a single turn")


def awaited(result):
    steps = result.__await__()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def value(function, given):
    try:
        result = function(**given)
        return float(awaited(result) if hasattr(result, "__await__") else result)
    except (ImportError, MemoryError, NameError, OSError):
        # What the sandbox lacks is no score of 0.
        raise
    except Exception:
        # As the library does.
        return 0.0


def score(prompt, completion, row):
    asked = row["input"]
    conversation = asked["prompt"]
    if isinstance(conversation, str):
        conversation = [{"role": "text", "content": conversation}]
    common = {
        "prompt": [Message(message) for message in conversation],
        "completion": [Message(role="assistant", content=completion)],
        "answer": asked.get("answer", ""),
        "info": asked.get("info", {}),
        "task": row.get("task", asked),
    }
    state = State(common, input=asked)
    if "example_id" in asked:
        state["example_id"] = asked["example_id"]
    parts = {}
    for name, weight, function, names, objects in FUNCTIONS:
        given = {**(asked if COLUMNS else {}), **common, "state": state, **objects}
        given = given if names is None else {key: given[key] for key in names if key in given}
        parts[name] = parts.get(name, 0.0) + weight * value(function, given)
    return parts
