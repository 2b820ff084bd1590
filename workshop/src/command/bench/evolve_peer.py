"""Merges two adapters by their SVD with peft, for `bench evolve`; prints {"seconds": ..}."""

import json
import sys
import time

import torch
from peft import LoraConfig, PeftModel, set_peft_model_state_dict
from safetensors.torch import load_file

asked = json.loads(sys.argv[1])
torch.set_num_threads(asked["threads"])


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # The base's weights do not matter when merging adapters.
        for name, (inputs, outputs) in asked["modules"].items():
            linear = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs, bias=False, dtype=torch.bfloat16)
            setattr(self, name, linear)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = Attention()


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Module()
        self.model.layers = torch.nn.ModuleList([Layer() for _ in range(asked["layers"])])


model = None
for name, folder in zip(("first", "second"), asked["parents"]):
    config = LoraConfig.from_pretrained(folder)
    config.task_type = None
    if model is None:
        model = PeftModel(Base(), config, adapter_name=name)
    else:
        model.add_adapter(name, config)
    weights = load_file(folder + "/adapter_model.safetensors")
    kept = {key: value for key, value in weights.items() if int(key.split(".layers.")[1].split(".")[0]) < asked["layers"]}
    missing = set_peft_model_state_dict(model, kept, adapter_name=name)
    assert not missing.unexpected_keys, missing.unexpected_keys[:3]

start = time.perf_counter()
with torch.no_grad():
    model.add_weighted_adapter(["first", "second"], [0.5, 0.5], "child", combination_type="svd", svd_rank=asked["rank"])
print(json.dumps({"seconds": time.perf_counter() - start}))
