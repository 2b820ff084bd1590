"""Outcomes of a run that are intervals over problems, from counts of answers and of correct ones by problem."""

import json
import math
import statistics

# An interval of 95 % reaches this many standard errors to both sides.
NORMAL = 1.96


def windows(attempts, places, steps, size):
    """The answers of the first and of the last `size` steps: rows of a problem's place, its answers and how many are correct."""
    counts = {"first": {}, "last": {}}
    for attempt in attempts:
        for part, steps_of in (("first", range(size)), ("last", range(steps - size, steps))):
            if attempt["step"] in steps_of:
                count = counts[part].setdefault(places[attempt["problem_id"]], [0, 0])
                count[0] += 1
                count[1] += attempt["correct"]
    return {part: [[place, *count] for place, count in sorted(rows.items())] for part, rows in counts.items()}


def change(first, last):
    """By how much the share of correct answers in `last` exceeds that in `first`, and its standard error over problems.

    A problem that is in both is one draw of a pair, so its own difficulty cancels (delta method for a difference of
    ratios, clustered by problem). If all are in both, it is the paired difference:

    >>> change([[0, 2, 1], [1, 2, 0]], [[0, 2, 2], [1, 2, 1]])
    (0.5, 0.0)
    >>> mean, error = change([[0, 2, 1], [1, 2, 0]], [[2, 2, 2], [3, 2, 1]])
    >>> round(mean, 3), round(error, 3)
    (0.5, 0.289)
    """
    influence = {}
    means = []
    for sign, rows in ((-1, first), (1, last)):
        answers = sum(row[1] for row in rows)
        mean = sum(row[2] for row in rows) / answers
        means.append(mean)
        for place, n, correct in rows:
            influence[place] = influence.get(place, 0.0) + sign * (correct - mean * n) / answers
    problems = len(influence)
    variance = sum(value**2 for value in influence.values()) * problems / max(1, problems - 1)
    return means[1] - means[0], math.sqrt(variance)


def pass_at_k(n, correct, k):
    """The chance that one of k of the n answers is correct (arXiv 2107.03374, Eq. 1).

    >>> pass_at_k(4, 1, 2), pass_at_k(4, 3, 2), pass_at_k(4, 0, 4)
    (0.5, 1.0, 0.0)
    """
    return 1.0 - math.comb(n - correct, k) / math.comb(n, k)


def spread(values):
    """The mean and its standard error.

    >>> spread([0.0, 1.0, 1.0, 0.0])
    (0.5, 0.28867513459481287)
    """
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def held_out(results, suite):
    """Samples per row, and correct ones by row of the base and of the member, from the run's table of benchmarks."""
    found = {"base" if row["role"] == "base" else "member": row for row in results if row["suite"] == suite}
    correct = {subject: json.loads(row["correct"]) for subject, row in found.items()}
    return {"n": found["base"]["n"], **correct}


def scores(counts, subject, k):
    """pass@k of each problem."""
    return [pass_at_k(counts["n"], correct, k) for correct in counts[subject]]


def measured(run, measure):
    """The change that `measure` names in the rows of a run, with its standard error: in training pass@1 from the first to the
    last window of steps, or on held-out problems from the base to the member at the end, paired by problem.

    >>> run = {"held_out_counts": {"sampled": {"n": 2, "base": [0, 1], "member": [1, 2]}}}
    >>> measured(run, "held_out_pass_at_1"), measured(run, "held_out_pass_at_2")
    ((0.5, 0.0), (0.5, 0.5))
    """
    if measure == "training_pass_at_1":
        return change(run["training"]["first"], run["training"]["last"])
    counts, k = counts_of(run, measure)
    pairs = zip(scores(counts, "base", k), scores(counts, "member", k))
    return spread([after - before for before, after in pairs])


def counts_of(run, measure):
    """The counts behind a measure on held-out problems, and its k."""
    if measure == "held_out_greedy":
        return run["held_out_counts"]["greedy"], 1
    return run["held_out_counts"]["sampled"], int(measure.removeprefix("held_out_pass_at_"))


def appears(mean, error, expected):
    """Whether the interval says what was expected: `rises`, `falls` or `does not rise`.

    >>> appears(0.1, 0.04, "rises"), appears(0.1, 0.06, "rises"), appears(0.1, 0.06, "does not rise")
    (True, False, True)
    """
    low, high = mean - NORMAL * error, mean + NORMAL * error
    return {"rises": low > 0, "falls": high < 0, "does not rise": low <= 0}[expected]


def percent(mean, error, signed=False):
    """The mean and its interval of 95 %, in per cent.

    >>> percent(0.25, 0.01), percent(-0.025, 0.01, signed=True)
    ('25.0 [23.0, 27.0]', '-2.5 [-4.5, -0.5]')
    """
    sign = "+" if signed else ""
    low, high = mean - NORMAL * error, mean + NORMAL * error
    return f"{100 * mean:{sign}.1f} [{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"
