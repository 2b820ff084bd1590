"""Measures of runs, and what they say of what was expected. `lyceum-workshop effects` has the statistics."""

import functools
import json
import math
import os
import pathlib
import statistics
import subprocess

import study_goalposts

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pass_at_k(n, correct, k):
    """The chance that one of k of the n answers is correct (arXiv 2107.03374, Eq. 1).

    >>> pass_at_k(4, 1, 2), pass_at_k(4, 3, 2), pass_at_k(4, 0, 4)
    (0.5, 1.0, 0.0)
    """
    return 1.0 - math.comb(n - correct, k) / math.comb(n, k)


def cannot_fail(outcome, runs, own=()):
    """Why a claim about an arm's metric holds whatever happens, by the rows of all runs and of its own; else nothing.

    >>> runs = [{"metrics": ["set"], "rows": [[0, 1.0], [1, 1.0], [2, 4.0]]}]
    >>> claim = {"against": "nothing", "expected": "higher"}
    >>> cannot_fail({**claim, "measure": "change of set"}, runs), cannot_fail({**claim, "measure": "mean of set"}, runs)
    ('`set` never falls in any run', '`set` is never below 0 in any run')
    >>> cannot_fail({**claim, "measure": "change of set", "expected": "lower"}, runs) is None
    True
    >>> exact = {"metrics": ["right"], "rows": [[0, 1.0], [1, 1.0]]}
    >>> cannot_fail({"against": "other", "expected": "higher", "measure": "mean of right"}, [exact], [exact])
    '`right` is 1 in every step of the arm: its configuration fixes it'
    """
    part, _, name = outcome["measure"].partition(" of ")
    fixed = {value for run in own if name in run["metrics"] for value in recorded(run, name)} if name else set()
    if len(fixed) == 1:
        return f"`{name}` is {fixed.pop():g} in every step of the arm: its configuration fixes it"
    if outcome["against"] != "nothing" or not name or outcome.get("at_least", 0.0) > 0.0:
        return None
    series = [recorded(run, name) for run in runs if name in run["metrics"]]
    sign = -1 if outcome["expected"] == "lower" else 1
    if part == "change":
        steps = [sign * (after - before) for values in series for before, after in zip(values, values[1:])]
        return f"`{name}` never {'rises' if sign < 0 else 'falls'} in any run" if steps and min(steps) >= 0 else None
    values = [sign * value for found in series for value in found]
    return f"`{name}` is never {'above' if sign < 0 else 'below'} 0 in any run" if values and min(values) >= 0 else None


def vacuous(arm, runs):
    """Why an arm that is rewarded only for finishing (`finished`) controls for nothing; else nothing. Where nearly all answers
    of the base finish, or nearly none, its groups teach nothing at the first step.

    >>> run = lambda share: {"metrics": ["no_signal_share"], "rows": [[0, share], [1, 0.2]]}
    >>> finished = {"overrides": {"parameters.reward.solution": "finished"}}
    >>> vacuous(finished, [run(0.9), run(0.8)])
    'in its first step 15 % of its groups differ'
    >>> [vacuous(finished, [run(0.5)]), vacuous({"overrides": {}}, [run(0.9)]), vacuous(finished, [])]
    [None, None, None]
    """
    if "finished" not in arm.get("overrides", {}).values() or not runs:
        return None
    differ = 1.0 - statistics.fmean(recorded(run, "no_signal_share")[0] for run in runs)
    return f"in its first step {100 * differ:.0f} % of its groups differ" if differ < 0.2 else None


def crossing(points, wanted):
    """The x at which a rising curve of (x, y) reaches `wanted`, interpolated; an end if it does not.

    >>> crossing([[0.5, 1.0], [1.0, 2.0]], 1.5), crossing([[0.5, 1.0], [1.0, 2.0]], 0.1), crossing([[0.5, 1.0], [1.0, 2.0]], 9)
    (0.75, 0.5, 1.0)
    """
    for (x, y), (next_x, next_y) in zip(points, points[1:]):
        if y <= wanted <= next_y:
            return x + (next_x - x) * (wanted - y) / (next_y - y or 1.0)
    return points[0][0] if wanted < points[0][1] else points[-1][0]


def by_problem(members, n, k):
    """pass@k of each problem, as the mean over members.

    >>> by_problem({"a": {"correct": [1, 0]}, "b": {"correct": [1, 1]}}, 1, 1)
    [1.0, 0.5]
    """
    each = [[pass_at_k(n, correct, k) for correct in member["correct"]] for member in members.values()]
    return [statistics.fmean(problem) for problem in zip(*each)]


def tokens(members):
    """The members' mean length of an answer."""
    return statistics.fmean(member["tokens"] for member in members.values())


def recorded(row, name):
    """The values of a metric of the run, at the steps that have one.

    >>> recorded({"metrics": ["vendi"], "rows": [[0, None], [1, 3.0], [2, None], [3, 2.5]]}, "vendi")
    [3.0, 2.5]
    """
    place = row["metrics"].index(name) + 1
    return [line[place] for line in row["rows"] if line[place] is not None]


def of_run(row, measure):
    """What a measure says of a metric of the run: `mean of NAME`, `sum of NAME`, `first of NAME`, `last of NAME`, or `change of
    NAME` from its first to its last value.

    >>> row = {"metrics": ["vendi"], "rows": [[0, 4.0], [1, None], [2, 3.0]]}
    >>> of_run(row, "change of vendi"), of_run(row, "mean of vendi"), of_run(row, "sum of vendi"), of_run(row, "last of vendi")
    (-1.0, 3.5, 7.0, 3.0)
    """
    part, _, name = measure.partition(" of ")
    values = recorded(row, name)
    return {
        "mean": statistics.fmean(values),
        "sum": sum(values),
        "first": values[0],
        "last": values[-1],
        "change": values[-1] - values[0],
    }[part]


def is_by_problem(measure):
    """Whether a measure has a value for each problem, and so an interval over problems.

    >>> is_by_problem("greedy"), is_by_problem("pass_at_8"), is_by_problem("tokens"), is_by_problem("mean of vendi")
    (True, True, False, False)
    """
    return measure in ("greedy", "begun") or measure.startswith("pass_at_")


def values_of(row, measure, samples):
    """A row's values of a measure by problem: `goalposts`, whether each was solved by any checkpoint; `greedy` at the end,
    the same with answers that were `begun`, or `pass_at_K` of the sampled answers; or its one value of
    `tokens`, those of greedy answers at the end, or of a metric of the run."""
    if " of " in measure:
        return [of_run(row, measure)]
    if measure.startswith("goalposts"):
        return study_goalposts.values(row, measure)
    if measure in ("greedy", "begun"):
        return by_problem(row[measure][-1]["members"], 1, 1)
    if measure == "tokens":
        return [tokens(row["greedy"][-1]["members"])]
    return by_problem(row["sampled"], samples, int(measure.removeprefix("pass_at_")))


def base_row(base):
    """The base's rows in the shape of an arm's."""
    greedy = {name: [{"step": 0, "members": {"base": base[name]}}] for name in ("greedy", "begun") if name in base}
    return {**greedy, "sampled": {"base": base.get("sampled")}}


@functools.cache
def workshop():
    """`lyceum-workshop effects`, which answers a line with a line: that of LYCEUM_WORKSHOP, or the newest that is built."""
    built = sorted(ROOT.glob("target/*/lyceum-workshop"), key=lambda path: path.stat().st_mtime)
    program = os.environ.get("LYCEUM_WORKSHOP") or (built[-1] if built else None)
    if program is None:
        raise SystemExit("results: lyceum-workshop is not built: run cargo build -p lyceum-workshop")
    return subprocess.Popen([program, "effects"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def judge(**asked):
    process = workshop()
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def intervals(lists):
    """The mean of each list with its interval of 95 % by Student's t, which a single value lacks: (mean, low, high)."""
    reach = lambda found: math.inf if found["reach"] is None else found["reach"]  # noqa: E731
    return [(one["mean"], one["mean"] - reach(one), one["mean"] + reach(one)) for one in judge(means=lists)["means"]]


def expectation(outcome):
    """What an outcome expects, as `lyceum-workshop effects` reads it.

    >>> expectation({"expected": "lower", "at_least": 0.1}), expectation({"expected": "not higher"})
    ({'lower': 0.1}, 'not_higher')
    """
    expected = outcome["expected"]
    return "not_higher" if expected == "not higher" else {expected: outcome.get("at_least", 0.0)}


def arm(values, is_fixed):
    return {"fixed": values[0]} if is_fixed else values
