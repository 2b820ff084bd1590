"""The peer of `bench update`: transformers and peft train the members one after the other.

Reads the sizes as one JSON object from the first argument; prints the seconds that all members' updates took, by the wall
clock and of the processors, the least of `repeats`. Written as a careful user would: logits for the completion only, fused attention, no cache.
"""

import json
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen2Config

size = json.loads(sys.argv[1])
torch.manual_seed(0)
torch.set_num_threads(size["threads"])
device = torch.device(size["device"])
config = Qwen2Config(**size["config"], use_cache=False)
model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, size["dtype"]), attn_implementation="sdpa")
lora = LoraConfig(r=size["rank"], lora_alpha=2 * size["rank"], task_type="CAUSAL_LM", target_modules=[
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
model = get_peft_model(model, lora, adapter_name="0", autocast_adapter_dtype=False).to(device)
for member in range(1, size["members"]):
    model.add_adapter(str(member), lora)
if size["recompute"]:
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.train()

prompt, new = size["prompt"], size["new"]
per_member = size["sequences"] // size["members"]
micro = max(1, size["micro_batch_tokens"] // (prompt + new))


def update(member):
    model.set_adapter(str(member))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.0)
    ids = torch.randint(0, config.vocab_size, (per_member, prompt + new), device=device)
    old = torch.full((per_member, new), -7.0, device=device)
    advantage = torch.randn(per_member, 1, device=device)
    for start in range(0, per_member, micro):
        rows = slice(start, start + micro)
        logits = model(input_ids=ids[rows, :-1], logits_to_keep=new).logits.float()
        logprobs = torch.log_softmax(logits, -1).gather(2, ids[rows, prompt:, None])[:, :, 0]
        ratio = torch.exp(logprobs - old[rows])
        loss = torch.maximum(-advantage[rows] * ratio, -advantage[rows] * ratio.clamp(0.8, 1.28)).sum()
        (loss / (per_member * new)).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()


def everyone():
    for member in range(size["members"]):
        update(member)
    if device.type == "cuda":
        torch.cuda.synchronize()


wall = cpu = float("inf")
for _ in range(size["repeats"]):
    start = time.perf_counter(), time.process_time()
    everyone()
    wall = min(wall, time.perf_counter() - start[0])
    cpu = min(cpu, time.process_time() - start[1])
print(json.dumps(dict(wall_seconds=wall, cpu_seconds=cpu)))
