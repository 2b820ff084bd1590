"""vLLM in this process: the same adapters, prompts and lengths. Run by `bench rollout`, which names a file with the job."""

import json
import os
import resource
import sys
import time

# In this process, so that its processor time can be read.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from vllm import LLM, SamplingParams
from vllm.lora.request import LoRARequest


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    with open(sys.argv[1]) as file:
        job = json.load(file)
    llm = LLM(model=job["model"], dtype=job["dtype"], enable_lora=True, max_loras=len(job["adapters"]), max_lora_rank=job["rank"],
              max_num_seqs=len(job["prompts"]), max_model_len=job["longest"], max_num_batched_tokens=job["batched"], enforce_eager=True,
              enable_prefix_caching=False, generation_config="vllm", logprobs_mode="raw_logprobs")
    adapters = [LoRARequest(f"member-{place}", place + 1, folder) for place, folder in enumerate(job["adapters"])]
    prompts = [{"prompt_token_ids": ids} for ids in job["prompts"]]
    sampling = SamplingParams(temperature=1.0, max_tokens=job["new"], ignore_eos=True, logprobs=0)
    wall, cpu = float("inf"), float("inf")
    for repeat in range(job["repeats"] + 1):
        start, start_cpu = time.perf_counter(), cpu_seconds()
        outputs = llm.generate(prompts, sampling, lora_request=[adapters[place] for place in job["adapter_of"]], use_tqdm=False)
        assert all(len(output.outputs[0].token_ids) == job["new"] for output in outputs)
        # The first time loads adapters and warms up.
        if repeat > 0:
            wall, cpu = min(wall, time.perf_counter() - start), min(cpu, cpu_seconds() - start_cpu)
    print(json.dumps({"wall_seconds": wall, "cpu_seconds": cpu}))


main()
