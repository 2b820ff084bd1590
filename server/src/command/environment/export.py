# Writes an environment of the `verifiers` library as rows and a reward. It runs in the user's own Python, with `source.py` before
# it; what is asked comes by standard input, and what was found goes to a file.

import importlib.metadata
import json
import os
import traceback

STATE = {"prompt", "completion", "answer", "info", "task", "input", "example_id"}
GROUPS = {"prompts", "completions", "answers", "states", "tasks", "infos"}
# Those of a row that the library does not give by their own names.
FIELDS = {"prompt", "answer", "info", "example_id"}
CONTENT = "one text of the system, if any, and then one text of the user are valid"


def loaded(name, arguments):
    try:
        import verifiers
    except ImportError as error:
        raise Refused(f"this Python cannot import `verifiers` ({error}): install it there, or name another with --python") from None
    if not hasattr(verifiers, "load_environment") or not hasattr(verifiers, "SingleTurnEnv"):
        raise Refused(
            f"verifiers {version()} has no environments with a rubric (`load_environment`, `SingleTurnEnv`): versions below 0.4 are valid"
        )
    ENVIRONMENT.add(name.split("/")[-1].replace("-", "_"))
    environment = verifiers.load_environment(name, **arguments)
    kind = type(environment)
    if not isinstance(environment, verifiers.SingleTurnEnv):
        raise Refused(f"it is a `{kind.__name__}`: only environments of the class `SingleTurnEnv` are valid")
    own = kind.__mro__[: kind.__mro__.index(verifiers.SingleTurnEnv)]
    changed = [name for one in own for name, held in vars(one).items() if callable(held) and name != "__init__"]
    if changed:
        raise Refused(f"its class `{kind.__name__}` has a `{changed[0]}` of its own: only what `SingleTurnEnv` does is valid")
    if getattr(environment, "tool_defs", None) or getattr(environment, "oai_tools", None):
        raise Refused("it has tools: only environments without tools are valid")
    if getattr(environment, "message_type", "chat") != "chat":
        raise Refused(f"its message_type is `{environment.message_type}`: `chat` is valid")
    return environment


def version():
    try:
        return importlib.metadata.version("verifiers")
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


# Rows.


def text(message, number):
    content = message.get("content")
    if isinstance(content, list) and all(isinstance(one, dict) and one.get("type") == "text" for one in content):
        content = " ".join(one.get("text") or "" for one in content)
    if not isinstance(content, str):
        raise Refused(f"row {number}: a message of its prompt is no text: {CONTENT}")
    return content


def question(prompt, number):
    """A prompt as one text, which is what a row of Lyceum asks."""
    if isinstance(prompt, str):
        return prompt
    roles = [message.get("role") for message in prompt]
    if roles not in (["user"], ["system", "user"]):
        raise Refused(f"row {number}: its prompt has messages of {', '.join(map(str, roles))}: {CONTENT}")
    return "\n\n".join(text(message, number) for message in prompt)


def plain(row, number):
    """A row as JSON holds it, without the columns that a message of another row has."""
    for column, held in row.items():
        try:
            json.dumps(held)
        except (TypeError, ValueError) as error:
            raise Refused(f"row {number}: its column `{column}` is no JSON: {error}") from None
    if isinstance(row.get("info"), str):
        row["info"] = json.loads(row["info"])
    if isinstance(row["prompt"], list):
        row["prompt"] = [{key: held for key, held in one.items() if held is not None} for one in row["prompt"]]
    return row


def rows(environment, which):
    sources = {"train": ("dataset", "dataset_source"), "eval": ("eval_dataset", "eval_dataset_source")}
    there = [name for name, places in sources.items() if any(getattr(environment, place, None) is not None for place in places)]
    if which not in there:
        raise Refused(f"it has no rows for --rows {which}: {' and '.join(there) or 'none'} are valid")
    dataset = environment.get_dataset() if which == "train" else environment.get_eval_dataset()
    try:
        from verifiers.types import flatten_task_input
    except ImportError:
        flatten_task_input = None
    for number, row in enumerate(dataset, 1):
        if flatten_task_input:
            row, extra = plain(dict(flatten_task_input(row)), number), {}
        else:
            row = plain(dict(row), number)
            extra = {"task": row.get("task", "default")}
        yield {"question": question(row["prompt"], number), "input": row, **extra}


# The reward.


def members(rubric):
    return [one for group in rubric.rubrics for one in members(group)] if hasattr(rubric, "rubrics") else [rubric]


def functions(rubric):
    """The functions of a rubric with their weights."""
    import verifiers

    for method in ("score_rollout", "score_group", "_call_individual_reward_func"):
        if getattr(type(rubric), method, None) is not getattr(verifiers.Rubric, method, None):
            raise Refused(f"rubric `{type(rubric).__name__}`: it has a `{method}` of its own: only what `Rubric` does is valid")
    kept = [name for name in ("funcs", "reward_funcs") if hasattr(rubric, name)][0]
    return list(zip(getattr(rubric, kept), getattr(rubric, kept.replace("funcs", "weights"))))


def called(function):
    return getattr(function, "__name__", type(function).__name__)


def part(name):
    """A function's name as the name of a part. `correct` would decide which answers count as correct, whatever its weight."""
    name = re.sub(r"^[^A-Za-z]+", "", re.sub(r"[^A-Za-z0-9_]", "_", name))[:40] or "function"
    return "is_correct" if name == "correct" else name


def check_state(node, name):
    for inner in ast.walk(node):
        key = None
        if isinstance(inner, ast.Subscript):
            held, key = inner.value, inner.slice
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "get" and inner.args:
            held, key = inner.func.value, inner.args[0]
        if isinstance(key, ast.Constant) and isinstance(held, ast.Name) and held.id == name and key.value not in STATE:
            raise Refused(f"reads `state[{key.value!r}]`: {', '.join(sorted(STATE))} are valid")


def entry(source, function, weight, objects, columns):
    parameters = inspect.signature(function).parameters
    groups = [name for name in parameters if name in GROUPS]
    if groups:
        raise Refused(f"scores a group of answers (`{groups[0]}`): a reward scores one")
    given = {"prompt", "completion", "answer", "state", "info", "task", *objects, *columns}
    for name, one in parameters.items():
        if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and name not in given:
            raise Refused(f"asks for `{name}`, which neither the rubric nor the rows have")
    raw = inspect.unwrap(getattr(function, "__func__", function))
    rest = [name for name, one in parameters.items() if one.kind is one.VAR_KEYWORD]
    needed = [name for name in objects if name in parameters]
    if isinstance(raw, types.FunctionType):
        node = function_node(raw)
        check_state(node, "state")
        # All others are in `**kwargs`.
        if rest and any(isinstance(inner, ast.Name) and inner.id == rest[0] for inner in ast.walk(node)):
            needed = list(objects)
    own = []
    for name in needed:
        source.path.append(name)
        own.append(source.expression(objects[name], name))
        source.path.pop()
    names = ast.Constant(None) if rest else ast.List([ast.Constant(name) for name in parameters], ast.Load())
    held = ast.Dict([ast.Constant(name) for name in needed], own)
    fields = [ast.Constant(part(called(function))), ast.Constant(float(weight)), source.expression(function), names, held]
    return ast.Tuple(fields, ast.Load())


def written(environment, columns, prelude, title):
    source, entries, refusals, parts, left_out = Source(), [], [], {}, []
    by_name = hasattr(environment.rubric, "task_score_fields")
    for rubric in members(environment.rubric):
        weighted = functions(rubric)
        left_out += [called(function) for function, weight in weighted if not weight]
        for function, weight in weighted:
            if not weight:
                continue
            try:
                entries.append(source.attempt(lambda: entry(source, function, weight, rubric.class_objects, columns if by_name else ())))
                name = part(called(function))
                parts[name] = parts.get(name, 0) + weight
            except Refused as refusal:
                refusals.append(f"function `{called(function)}`: {refusal}")
    if refusals:
        raise Refused(*refusals)
    if not entries:
        raise Refused("its rubric has no function with a weight other than 0")
    made = definition("def environment(): pass")
    made.body = [*source.body, ast.Return(ast.List(entries, ast.Load()))]
    reward = "\n".join(
        [
            f"# Written by `lyceum environment export` from {title}.",
            "from __future__ import annotations\n",
            f"COLUMNS = {by_name}\n\n",
            prelude,
            f"\n{ast.unparse(ast.fix_missing_locations(ast.Module([made], [])))}\n\n",
            "FUNCTIONS = environment()\n",
        ]
    )
    return reward, {"parts": parts, "left_out": left_out, "packages": sorted(source.packages)}


def exported(ask):
    environment = loaded(ask["environment"], ask["arguments"])
    count, columns = 0, {}
    with open(os.path.join(ask["folder"], "rows.jsonl"), "w", encoding="utf-8") as file:
        for count, row in enumerate(rows(environment, ask["rows"]), 1):
            columns.update(dict.fromkeys(row["input"]))
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    if not count:
        raise Refused("it has no rows")
    title = f"the environment {ask['environment']!r} of verifiers {version()}"
    reward, found = written(environment, [name for name in columns if name not in FIELDS], ask["prelude"], title)
    with open(os.path.join(ask["folder"], "reward.py"), "w", encoding="utf-8") as file:
        file.write(reward)
    return {"exported": {"rows": count, "version": version(), **found}}


def reason(error):
    """The last line of a traceback, with where it was raised."""
    while error.__cause__ is not None:
        error = error.__cause__
    said = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    return f"{said} ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else said


def main():
    ask = json.load(sys.stdin)
    try:
        report = exported(ask)
    except Refused as refusal:
        report = {"refused": list(refusal.args)}
    except BaseException as error:
        traceback.print_exc()
        report = {"failed": reason(error)}
    with open(ask["report"], "w", encoding="utf-8") as file:
        json.dump(report, file)


main()
