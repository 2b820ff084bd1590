"""Loads folders that the engine wrote into the real transformers and peft, and compares last logits.

The argument is a JSON file of cases, which the test `peft_loads_what_the_engine_writes` makes: `model` (a folder),
`adapter` (a folder, or null), and `sequences`, a list of `ids` with the engine's `last_logits`. Prints the largest
difference of each case; fails above 1e-4.
"""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

TOLERANCE = 1e-4


@torch.no_grad()
def difference(case):
    model = AutoModelForCausalLM.from_pretrained(case["model"], dtype=torch.float32, attn_implementation="eager")
    if case["adapter"]:
        model = PeftModel.from_pretrained(model, case["adapter"])
    model.eval()
    worst = 0.0
    for sequence in case["sequences"]:
        logits = model(input_ids=torch.tensor([sequence["ids"]])).logits[0, -1]
        worst = max(worst, (logits - torch.tensor(sequence["last_logits"])).abs().max().item())
    return worst


def main():
    worst = 0.0
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        found = difference(case)
        worst = max(worst, found)
        print(f"{case['name']}: {found:.1e}")
    print(f"{len(cases)} folders, largest difference of last logits: {worst:.1e}")
    sys.exit(worst > TOLERANCE)


main()
