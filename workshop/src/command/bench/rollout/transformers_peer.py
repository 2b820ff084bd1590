"""Speed of transformers' `generate` with peft's mixed adapters on the shape of `bench rollout`; prints one JSON object.

The argument is a JSON object: `config` (keys of the Qwen2 configuration), `members`, `rank`, `sequences`, `prompt`,
`new`, `dtype`, `device`, `threads` and `repeats`.
"""

import json
import resource
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen2Config

PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    job = json.loads(sys.argv[1])
    if job["threads"]:
        torch.set_num_threads(job["threads"])
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[job["dtype"]]
    config = Qwen2Config(**job["config"], bos_token_id=None, eos_token_id=None, pad_token_id=0)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).to(job["device"]).eval()
    lora = LoraConfig(r=job["rank"], lora_alpha=2 * job["rank"], target_modules=PROJECTIONS, task_type="CAUSAL_LM")
    model = get_peft_model(model, lora, adapter_name="0", autocast_adapter_dtype=False)
    for member in range(1, job["members"]):
        model.add_adapter(str(member), lora, autocast_adapter_dtype=False)
    model = model.to(job["device"], dtype).eval()
    ids = torch.randint(0, config.vocab_size, (job["sequences"], job["prompt"]), device=job["device"])
    names = [str(row * job["members"] // job["sequences"]) for row in range(job["sequences"])]
    wall, cpu = float("inf"), float("inf")
    with torch.no_grad():
        for _ in range(job["repeats"]):
            start, start_cpu = time.perf_counter(), cpu_seconds()
            out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), adapter_names=names,
                                 do_sample=True, top_k=0, top_p=1.0,
                                 max_new_tokens=job["new"], min_new_tokens=job["new"])
            if job["device"] != "cpu":
                torch.cuda.synchronize()
            assert out.shape[1] == job["prompt"] + job["new"], out.shape
            wall, cpu = min(wall, time.perf_counter() - start), min(cpu, cpu_seconds() - start_cpu)
    print(json.dumps({"wall_seconds": wall, "cpu_seconds": cpu}))


main()
