"""The peer of script/compare-trl: TRL's GRPOTrainer, on the batches that Lyceum's run drew.

Reads the settings as one JSON file, named by the first argument, and prints one JSON object per step: the share of
correct answers, tokens, and the seconds that generation, the rest of the learning, and grading took.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
os.environ["OMP_NUM_THREADS"] = str(settings["threads"])
os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from peft import LoraConfig  # noqa: E402
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

torch.set_num_threads(settings["threads"])
# AutoTokenizer goes by the type of the model, which has a tokenizer of its own here.
tokenizer = PreTrainedTokenizerFast.from_pretrained(settings["model"], padding_side="left")
dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[settings["dtype"]]
model = AutoModelForCausalLM.from_pretrained(settings["model"], dtype=dtype, attn_implementation="sdpa")
on_gpu = settings["device"] == "cuda"

# A text of one token that ends an answer is an end of text for `generate`. Answers are cut at longer ones afterwards.
texts = {text: tokenizer.encode(text, add_special_tokens=False) for text in settings["stop"]}
known_ends = model.generation_config.eos_token_id
known_ends = known_ends if isinstance(known_ends, list) else [] if known_ends is None else [known_ends]
ends = list(dict.fromkeys([tokenizer.eos_token_id, *known_ends, *(ids[0] for ids in texts.values() if len(ids) == 1)]))
cuts = [text for text, ids in texts.items() if len(ids) > 1]
model.generation_config.eos_token_id = ends
seconds = {"generate": 0.0, "grade": 0.0}
graded = {}


def answer_of(ids):
    """The text before the token that ends it. If it was cut off, an answer of mathematics counts all the same, as in Lyceum."""
    cut = next((at for at, token in enumerate(ids) if token in ends), None)
    if cut is None and settings["suite"] != "held-out-seedling-math":
        return None
    text = tokenizer.decode(ids[:cut], skip_special_tokens=True)
    return min((text.split(cut)[0] for cut in cuts), key=len, default=text)


def until_stop(ids):
    """The tokens up to the one with which the first stop text is complete."""
    if not any(cut in tokenizer.decode(ids) for cut in cuts):
        return ids
    return next(ids[:end] for end in range(1, len(ids) + 1) if any(cut in tokenizer.decode(ids[:end]) for cut in cuts))


def reward(task_id, completion_ids, **_):
    """1 for a correct answer, by Lyceum's own grading in its sandbox."""
    start = time.perf_counter()
    answers = [answer_of(list(ids)) for ids in completion_ids]
    lines = [
        json.dumps({"task_id": task, "response": answer}) + "\n"
        for task, answer in zip(task_id, answers)
        if answer is not None and answer.strip()
    ]
    correct = iter(())
    if lines:
        with tempfile.TemporaryDirectory() as folder:
            samples, out = pathlib.Path(folder, "samples.jsonl"), pathlib.Path(folder, "out.json")
            samples.write_text("".join(lines))
            command = [settings["worker"], "grade", "--benchmark", settings["suite"], "--data", settings["rows"]]
            command += ["--samples", samples, "--out", out]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=settings["root"])
            verdicts = sorted(json.loads(out.read_text())["verdicts"], key=lambda verdict: verdict["line"])
            correct = iter([verdict["correct"] for verdict in verdicts])
    rewards = [float(next(correct)) if answer is not None and answer.strip() else 0.0 for answer in answers]
    graded.update(pass_rate=sum(rewards) / len(rewards), tokens=sum(len(ids) for ids in completion_ids))
    seconds["grade"] += time.perf_counter() - start
    return rewards


class Steps(TrainerCallback):
    """Prints each step."""

    def on_step_begin(self, *_, **__):
        seconds.update(generate=0.0, grade=0.0)
        self.start = time.perf_counter()

    def on_step_end(self, *_, **__):
        if on_gpu:
            torch.cuda.synchronize()
        whole = time.perf_counter() - self.start
        learn = whole - seconds["generate"] - seconds["grade"]
        print(json.dumps({**graded, **seconds, "learn": learn}), flush=True)


rows, optimizer, loss = settings["batches"], settings["optimizer"], settings["loss"]
sequences = settings["batch"] * settings["n"]
config = GRPOConfig(
    output_dir=tempfile.mkdtemp(),
    use_cpu=not on_gpu,
    bf16=settings["dtype"] == "bf16",
    seed=settings["seed"],
    max_steps=settings["steps"],
    per_device_train_batch_size=sequences,
    gradient_accumulation_steps=1,
    num_generations=settings["n"],
    shuffle_dataset=False,
    max_completion_length=settings["max_tokens"],
    temperature=settings["temperature"],
    top_p=1.0,
    top_k=0,
    # The mean over all tokens of the batch, no KL term; `delta` is the bound for negative advantages.
    loss_type="dapo",
    scale_rewards="group",
    beta=loss["kl"],
    epsilon=loss["clip_low"],
    epsilon_high=loss["clip_high"],
    delta=loss["clip_dual"],
    num_iterations=1,
    learning_rate=optimizer["learning_rate"],
    lr_scheduler_type="constant",
    adam_beta1=optimizer["beta1"],
    adam_beta2=optimizer["beta2"],
    adam_epsilon=optimizer["eps"],
    weight_decay=optimizer["weight_decay"],
    max_grad_norm=optimizer["max_grad_norm"],
    activation_checkpointing=False,
    report_to=[],
    save_strategy="no",
    logging_strategy="no",
    disable_tqdm=True,
)
lora = settings["lora"]
trainer = GRPOTrainer(
    model=model,
    reward_funcs=reward,
    args=config,
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer,
    peft_config=LoraConfig(
        r=lora["r"], lora_alpha=lora["lora_alpha"], target_modules=lora["target_modules"], task_type="CAUSAL_LM"
    ),
    callbacks=[Steps()],
)
generate = trainer._generate_single_turn


def timed(*given, **named):
    start = time.perf_counter()
    completions, *rest = generate(*given, **named)
    seconds["generate"] += time.perf_counter() - start
    return [until_stop(list(ids)) for ids in completions], *rest


trainer._generate_single_turn = timed
trainer.train()
