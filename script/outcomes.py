"""Measures of runs, and intervals over seeds and over problems."""

import functools
import math
import random
import statistics

import study_goalposts

# An interval of 95 % reaches this many standard errors to both sides.
NORMAL = 1.96


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


def t_below(end, freedom, parts=2000):
    """The probability that Student's t is below `end`, which is not negative, by Simpson's rule.

    >>> [round(t_below(*of), 4) for of in ((0.0, 3), (12.7062, 1), (2.0423, 30))]
    [0.5, 0.975, 0.975]
    """
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    density = lambda x: scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)  # noqa: E731
    width = end / parts
    inner = sum((4 if part % 2 else 2) * density(part * width) for part in range(1, parts))
    return 0.5 + (density(0.0) + inner + density(end)) * width / 3


@functools.cache
def t_quantile(freedom, probability=0.975):
    """The quantile of Student's t distribution, by bisection.

    >>> [round(t_quantile(freedom), 4) for freedom in (1, 2, 4, 9, 30)]
    [12.7062, 4.3027, 2.7764, 2.2622, 2.0423]
    """
    low, high = 0.0, 1.0
    while t_below(high, freedom) < probability:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_below(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def t_interval(values):
    """The interval of 95 % of a mean, by Student's t; a single value has none.

    >>> low, high = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> round(low, 4), round(high, 4)
    (1.0368, 4.9632)
    """
    if len(values) < 2:
        return -math.inf, math.inf
    mean, error = spread(values)
    reach = t_quantile(len(values) - 1) * error
    return mean - reach, mean + reach


DRAWS = 10_000


def resampled(values):
    """Means over problems that are drawn anew, in order; the same draws each time."""
    drawn = random.Random(0)
    size = len(values)
    return sorted(sum(drawn.choices(values, k=size)) / size for _ in range(DRAWS))


def bootstrap(values):
    """The interval of 95 % of a mean over problems, by resampling them (percentiles).

    >>> bootstrap([0.25] * 20)
    (0.25, 0.25)
    >>> low, high = bootstrap([0.0, 1.0] * 200)
    >>> 0.44 < low < 0.46 and 0.54 < high < 0.56
    True
    """
    means = resampled(values)
    return means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS) - 1]


def p_value(each, over_problems, by, expected):
    """How surprising the differences are if there is none beyond `by`, two-sided: the larger of Student's t over seeds and the
    bootstrap over problems, since both intervals must agree.

    >>> round(p_value([0.1, 0.2, 0.3], [0.2], 0.0, "higher"), 4)
    0.0742
    >>> p_value([0.1], [0.1], 0.0, "higher"), round(p_value([0.2, 0.21, 0.2], [0.0, 1.0], 0.0, "higher"), 1)
    (1.0, 0.5)
    """
    if len(each) < 2:
        return 1.0
    by = -by if expected == "lower" else by
    mean, error = spread(each)
    over_seeds = max(0.0, 2 * (1 - t_below(abs(mean - by) / error, len(each) - 1))) if error else float(mean == by)
    if len(over_problems) < 2:
        return over_seeds
    means = resampled(over_problems)
    tail = min(sum(value <= by for value in means), sum(value >= by for value in means))
    return max(over_seeds, min(1.0, 2 * max(tail, 1) / DRAWS))


def holm(p_values, level=0.05):
    """Which of several hypotheses are rejected together at this level (Holm 1979): the smallest p must be at most level / m, the next
    at most level / (m − 1), and so on until one is not.

    >>> holm([0.04, 0.01, 0.03]), holm([0.03]), holm([0.02, 0.02])
    ([False, True, False], [True], [True, True])
    """
    kept, alive = [False] * len(p_values), True
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        alive = alive and p_values[place] <= level / (len(p_values) - rank)
        kept[place] = alive
    return kept


def least_shown(each, over_problems, power=0.8):
    """The smallest difference that a study of this spread shows with this probability, over seeds and over problems; none is with
    fewer than two seeds.

    >>> round(least_shown([0.1, 0.2, 0.3], [0.2]), 3)
    0.31
    >>> least_shown([0.1], [0.0, 1.0])
    inf
    """
    if len(each) < 2:
        return math.inf
    freedom = len(each) - 1
    over_seeds = (t_quantile(freedom) + t_quantile(freedom, power)) * spread(each)[1]
    if len(over_problems) < 2:
        return over_seeds
    return max(over_seeds, (NORMAL + statistics.NormalDist().inv_cdf(power)) * spread(over_problems)[1])


def cannot_fail(outcome, runs):
    """Why a claim about one arm's metric holds whatever happens, by the rows of all runs; else nothing.

    >>> runs = [{"metrics": ["set"], "rows": [[0, 1.0], [1, 1.0], [2, 4.0]]}]
    >>> claim = {"against": "nothing", "expected": "higher"}
    >>> cannot_fail({**claim, "measure": "change of set"}, runs), cannot_fail({**claim, "measure": "mean of set"}, runs)
    ('`set` never falls in any run', '`set` is never below 0 in any run')
    >>> cannot_fail({**claim, "measure": "change of set", "expected": "lower"}, runs) is None
    True
    """
    part, _, name = outcome["measure"].partition(" of ")
    if outcome["against"] != "nothing" or not name or outcome.get("at_least", 0.0) > 0.0:
        return None
    series = [recorded(run, name) for run in runs if name in run["metrics"]]
    sign = -1 if outcome["expected"] == "lower" else 1
    if part == "change":
        steps = [sign * (after - before) for values in series for before, after in zip(values, values[1:])]
        return f"`{name}` never {'rises' if sign < 0 else 'falls'} in any run" if steps and min(steps) >= 0 else None
    values = [sign * value for found in series for value in found]
    return f"`{name}` is never {'above' if sign < 0 else 'below'} 0 in any run" if values and min(values) >= 0 else None


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


def contrast(ours, theirs):
    """How much one arm's values exceed another's: mean, interval over seeds, interval over problems, difference in each seed, and
    mean difference in each problem. Both are lists by seed of lists by problem; a list of one stands beside every seed of the
    other arm.

    >>> mean, seeds, problems, each, by_problem = contrast([[1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0]])
    >>> mean, each, [round(end, 3) for end in seeds], problems, by_problem
    (0.75, [0.5, 1.0], [-2.427, 3.927], (0.5, 1.0), [1.0, 0.5])
    """
    theirs = theirs * len(ours) if len(theirs) == 1 else theirs
    pairs = [[a - b for a, b in zip(one, other)] for one, other in zip(ours, theirs)]
    each = [statistics.fmean(pair) for pair in pairs]
    over_problems = [statistics.fmean(problem) for problem in zip(*pairs)]
    problems = bootstrap(over_problems) if len(over_problems) > 1 else t_interval(each)
    return statistics.fmean(each), t_interval(each), problems, each, over_problems


def verdict(expected, by, seeds, problems):
    """What both intervals say of an expectation: `higher` (by more than `by`), `lower` or `not higher`.

    >>> verdict("higher", 0.0, (0.1, 0.3), (0.05, 0.2)), verdict("higher", 0.0, (0.1, 0.3), (-0.05, 0.2))
    ('appears', 'is not decided')
    >>> verdict("higher", 0.0, (-0.3, -0.1), (-0.2, -0.1)), verdict("not higher", 0.0, (-0.3, 0.1), (-0.2, 0.2))
    ('is refuted', 'is not refuted')
    """
    low, high = min(seeds[0], problems[0]), max(seeds[1], problems[1])
    if expected == "not higher":
        return "is refuted" if low > 0 else "is not refuted"
    if expected == "lower":
        low, high = -high, -low
    return "appears" if low > by else "is refuted" if high < by else "is not decided"
