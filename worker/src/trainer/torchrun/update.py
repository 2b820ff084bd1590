"""One update by a group of processes over a base that is sharded over their devices.

    python -m torch.distributed.run --standalone --nproc-per-node N update.py FOLDER

FOLDER holds what a worker hands over, and `out` in it is what it gets back:

    update.json                  what to do; `read_job` names the fields
    samples.jsonl                one sequence a line, as `lyceum-worker update --in` reads them
    members/0, members/1, ..     PEFT folders, with the `optimizer.safetensors` of members that have one
    references/0, ..             PEFT folders of members that are kept close to another version
    out/0, out/1, ..             the new weights and optimizer states
    out/diagnostics.json         as `lyceum-worker update` writes it
    out/refused                  instead: why the same folder would be refused again

The base is frozen and by far the largest part, so FSDP2 shards it, a layer at a time, and each process reads its own rows of
the checkpoint only. Adapters and moments are a hundredth of it: every process has all of them, learns from its share of the
sequences, and gradients are summed. The losses, normalisers, clipping and steps are those of docs/LEARNING.md.
"""

import contextlib
import ctypes
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1


def end_with_parent():
    """Ends this process with torchrun's agent, which ends with the worker; `LYCEUM_TORCHRUN_PARENT` is the worker's id.

    torchrun gives each of its processes a session of its own, so a signal to the group that a worker starts does not reach
    them.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    worker = os.environ.get("LYCEUM_TORCHRUN_PARENT")
    if worker is None:
        return
    # An agent that died before the line above is no longer the parent.
    try:
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    except FileNotFoundError:
        sys.exit("torchrun's agent has ended")
    if stat.rpartition(")")[2].split()[1] != worker:
        sys.exit(f"the process that started torchrun is not the worker {worker}: --torchrun-python must name an interpreter, "
                 "not a script that starts one")


if __name__ == "__main__":
    end_with_parent()

import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM

# As in the engine (crates/engine/src/learn/loss.rs).
LARGEST_LOG_RATIO = 20.0
LARGEST_KL = 10.0
# Logits that are held at a time.
LOGITS = 1 << 24


class Refused(Exception):
    """The folder would be refused again."""


class Sequence:
    """A sequence of a member, and the place of its first learned token among all tokens of the update."""

    def __init__(self, sample, first):
        self.id, self.member = sample["id"], sample["adapter"]
        self.prompt, self.ids = sample["prompt_ids"], sample["ids"]
        self.logprobs, self.advantage = sample["logprobs"], sample["advantage"]
        self.first = first

    @property
    def inputs(self):
        """Tokens that pass through the layers: all but the last, which predicts nothing."""
        return len(self.prompt) + len(self.ids) - 1

    def check(self, config, needs_logprobs):
        def refuse(reason):
            raise Refused(f"sequence `{self.id}`: {reason} (member {self.member})")

        if not self.prompt or not self.ids:
            refuse(f"{len(self.prompt)} prompt ids and {len(self.ids)} ids to learn; at least one of each is needed")
        if self.inputs > config.max_position_embeddings:
            refuse(f"{self.inputs + 1} tokens; the model's longest sequence is {config.max_position_embeddings}")
        for id in self.prompt + self.ids:
            if not 0 <= id < config.vocab_size:
                refuse(f"id {id} is outside the vocabulary of {config.vocab_size}")
        if len(self.logprobs) != len(self.ids) and (needs_logprobs or self.logprobs):
            refuse(f"{len(self.logprobs)} log-probabilities for {len(self.ids)} ids; one per id is needed")
        # JSON has no NaN; what is not finite arrives as null.
        if not all(isinstance(number, (int, float)) and math.isfinite(number) for number in [*self.logprobs, self.advantage]):
            refuse("a log-probability or the advantage is not finite")


def read_job(folder):
    """What to do, and each member's sequences in order.

    `base`, a model folder; `dtype`, `fp32` or `bf16`; `threads` or null; `device`, `cpu` or `auto`; `loss`, an object or
    `cross_entropy`, and `optimizer` as in a payload; `learning_rates`, one for each member; `micro_batch_tokens`; `recompute`; `references`, one for each member:
    `base`, `start`, `version` (of the folder `references`) or null.
    """
    job = json.loads((folder / "update.json").read_text())
    members = [[] for _ in job["references"]]
    first = 0
    with open(folder / "samples.jsonl") as lines:
        for line in lines:
            sequence = Sequence(json.loads(line), first)
            members[sequence.member].append(sequence)
            first += len(sequence.ids)
    return job, members, first


def place(job):
    """The device of this process, and the mesh of all."""
    if job["threads"]:
        torch.set_num_threads(job["threads"])
    if job["device"] != "cpu" and torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    return device, init_device_mesh(device.type, (dist.get_world_size(),))


class Policy(torch.nn.Module):
    """The base with the adapters of all members, of which one is active."""

    def __init__(self, config, dtype, shapes, recompute):
        super().__init__()
        with torch.device("meta"):
            base = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")
        (first, shape), *others = shapes.items()
        # Factors of both kinds are made without values, which `load` gives them.
        self.adapted = get_peft_model(base, shape, adapter_name=first, low_cpu_mem_usage=True)
        for name, shape in others:
            self.adapted.add_adapter(name, shape, low_cpu_mem_usage=True)
        # In a list, since it is a part of `adapted` already.
        self.base = [base]
        self.chunk = max(1, LOGITS // config.vocab_size)
        # Only models that train recompute; nothing in them is random, since dropouts are 0.
        base.train(recompute)
        if recompute:
            base.gradient_checkpointing_enable({"use_reentrant": False})

    def shard(self, mesh):
        """Gives each process its rows of the base's tensors, without values."""
        factors = {parameter for name, parameter in self.named_parameters() if ".lora_" in name}
        (base,) = self.base
        for layer in base.model.layers:
            fully_shard(layer, mesh=mesh, ignored_params=factors)
        fully_shard(self, mesh=mesh, ignored_params=factors)

    def load(self, folder, config, device, adapters):
        """Reads this process's rows of the base, and all adapters."""
        (base,) = self.base
        self.to_empty(device=device)
        files = checkpoint_files(folder)
        for name, parameter in base.named_parameters():
            if ".lora_" in name or (name == "lm_head.weight" and config.tie_word_embeddings):
                continue
            stored = files(name.replace(".base_layer.", "."))
            if tuple(stored.get_shape()) != tuple(parameter.shape):
                raise Refused(f"`{name}` of {folder} has shape {stored.get_shape()}; {list(parameter.shape)} is valid")
            shape, offset = compute_local_shape_and_global_offset(parameter.shape, parameter.device_mesh, parameter.placements)
            parameter.to_local().copy_(stored[offset[0]:offset[0] + shape[0]])
        # Buffers are no part of a checkpoint.
        base.model.rotary_emb = type(base.model.rotary_emb)(config=config).to(device)
        for adapter, tensors in adapters.items():
            for name, values in tensors.items():
                module = self.adapted.get_submodule(name.removesuffix(".weight") + "." + adapter)
                module.weight = torch.nn.Parameter(values.to(device, torch.float32))

    def parameters_of(self, adapter, names):
        return [self.adapted.get_submodule(name.removesuffix(".weight") + "." + adapter).weight for name in names]

    def forward(self, ids, rows, targets):
        """Log-probabilities of `targets`, each predicted by one of `rows` of the flattened ids, and entropies."""
        (base,) = self.base
        # Padding follows what it pads, so no mask but the causal one is needed.
        hidden = base.model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)[rows]
        scores = [checkpoint(self.head, *part, use_reentrant=False)
                  for part in zip(hidden.split(self.chunk), targets.split(self.chunk))]
        return tuple(torch.cat(part) for part in zip(*scores))

    def head(self, hidden, targets):
        (base,) = self.base
        logprobs = torch.log_softmax(base.lm_head(hidden).float(), -1)
        entropies = -(logprobs.exp() * logprobs).sum(-1)
        return logprobs.gather(1, targets[:, None])[:, 0], entropies


def checkpoint_files(folder):
    """A function from a tensor's name to its slice in the files of a model folder."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        of_name = json.loads(index.read_text())["weight_map"]
    else:
        of_name = None
    opened = {}

    def stored(name):
        file = "model.safetensors" if of_name is None else of_name[name]
        if file not in opened:
            opened[file] = safe_open(folder / file, framework="pt")
        return opened[file].get_slice(name)

    return stored


def micro_batches(sequences, budget):
    """Lists of one member's sequences of like lengths: at most `budget` tokens with padding, or a single sequence."""
    batches = []
    for member in sequences:
        batch = []
        for sequence in sorted(member, key=lambda sequence: sequence.inputs):
            if batch and (len(batch) + 1) * sequence.inputs > budget:
                batches.append(batch)
                batch = []
            batch.append(sequence)
        if batch:
            batches.append(batch)
    return batches


def dealt(sequences, budget):
    """This process's micro-batches. Every process gets as many, since they gather the base's layers together; `None` where
    there are no more. Those of a round are of like size, as each waits for the longest."""
    batches = micro_batches(sequences, budget)
    batches.sort(key=lambda batch: -len(batch) * batch[-1].inputs)
    own = batches[dist.get_rank()::dist.get_world_size()]
    rounds = -(-len(batches) // dist.get_world_size())
    return own + [None] * (rounds - len(own))


def passed(policy, batch, device):
    """Scores of the learned tokens of a micro-batch."""
    if batch is None:
        nothing = torch.zeros(1, dtype=torch.long, device=device)
        return policy(nothing[None], nothing, nothing)
    longest = batch[-1].inputs
    ids, rows, targets = [], [], []
    for index, sequence in enumerate(batch):
        inputs = (sequence.prompt + sequence.ids)[:-1]
        ids.append(inputs + [0] * (longest - len(inputs)))
        start = index * longest + len(sequence.prompt) - 1
        rows.extend(range(start, start + len(sequence.ids)))
        targets.extend(sequence.ids)
    return policy(*(torch.tensor(numbers, device=device) for numbers in (ids, rows, targets)))


def summed(tensor):
    dist.all_reduce(tensor)
    return tensor


class Update:
    """An update of all members, and what of it is constant over its steps."""

    def __init__(self, job, members, tokens, policy, device, names, folders):
        self.job, self.members, self.policy, self.device, self.names = job, members, policy, device, names
        self.loss, self.optimizer = job["loss"], job["optimizer"]
        self.one_step = self.optimizer["epochs"] == self.optimizer["minibatches"] == 1
        self.parameters = [policy.parameters_of(member_name(member), names[member]) for member in range(len(members))]
        self.optimizers = [
            make_optimizer(self.optimizer | {"learning_rate": rate}, self.parameters[member], names[member],
                           folders[member_name(member)], device)
            for member, rate in enumerate(job["learning_rates"])
        ]
        self.done, self.total = 0, sum(map(len, members)) * self.optimizer["epochs"]
        self.tokens = tokens

    @property
    def is_policy_gradient(self):
        return self.loss != "cross_entropy"

    def flat(self, numbers_of):
        """One number for each learned token of the update, or NaN."""
        flat = torch.full((self.tokens,), math.nan, dtype=torch.float64)
        for sequence in (sequence for member in self.members for sequence in member):
            numbers = numbers_of(sequence)
            if numbers:
                flat[sequence.first:sequence.first + len(sequence.ids)] = torch.tensor(numbers, dtype=torch.float64)
        return flat.to(self.device)

    def scored(self, sequences, activate):
        """Log-probabilities of the learned tokens of `sequences` under the adapters that `activate` chooses."""
        scores = torch.zeros(self.tokens, dtype=torch.float64, device=self.device)
        for batch in dealt(sequences, self.job["micro_batch_tokens"]):
            with torch.no_grad(), activate(batch[0].member) if batch else contextlib.nullcontext():
                logprobs, _ = passed(self.policy, batch, self.device)
            start = 0
            for sequence in batch or []:
                end = start + len(sequence.ids)
                scores[sequence.first:sequence.first + len(sequence.ids)] = logprobs[start:end].double()
                start = end
            if not torch.isfinite(scores).all():
                raise Refused(f"a log-probability of member {batch[0].member} under the reference of its KL term or of its "
                              "ratio is not finite (NaN or infinity)")
        return summed(scores)

    def own(self, member):
        """Activates a member's adapter."""
        self.policy.adapted.set_adapter(member_name(member))
        return contextlib.nullcontext()

    def other(self, member):
        """Activates the version that a member is kept close to."""
        self.policy.adapted.set_adapter(reference_name(member))
        return contextlib.nullcontext()

    def without(self, _):
        """Leaves only the base."""
        return self.policy.adapted.disable_adapter()

    def prepare(self):
        """The log-probabilities that the ratio and the KL term refer to, as before the first step."""
        self.sampled = self.flat(lambda sequence: sequence.logprobs)
        self.old, self.reference = self.sampled, None
        if not self.is_policy_gradient:
            return
        trainer = self.loss["old_policy"] == "trainer"
        references = self.job["references"]
        at_start = [sequences if trainer or reference == "start" else []
                    for sequences, reference in zip(self.members, references)]
        # Of the first step they are those of its own pass.
        start = None
        if not self.one_step and any(at_start):
            start = self.scored(at_start, self.own)
        if trainer:
            self.old = start if start is not None else torch.full_like(self.sampled, math.nan)
        if not self.loss["kl"]:
            return
        self.reference = torch.full_like(self.sampled, math.nan)
        for kind, activate in [("base", self.without), ("version", self.other)]:
            of_kind = [sequences if reference == kind else [] for sequences, reference in zip(self.members, references)]
            if any(of_kind):
                self.fill(self.reference, self.scored(of_kind, activate), of_kind)
        if start is not None:
            of_kind = [sequences if reference == "start" else [] for sequences, reference in zip(self.members, references)]
            self.fill(self.reference, start, of_kind)

    @staticmethod
    def fill(flat, scores, sequences):
        for sequence in (sequence for member in sequences for sequence in member):
            place = slice(sequence.first, sequence.first + len(sequence.ids))
            flat[place] = scores[place]

    def weights(self, minibatch):
        """The weight of a token of each member's sequences in the mean over a minibatch."""
        aggregation = self.loss["aggregation"] if self.is_policy_gradient else "token_mean"
        tokens = [sum(len(sequence.ids) for sequence in member) for member in minibatch]

        def weight(sequence):
            if aggregation == "sequence_mean":
                return 1 / (len(minibatch[sequence.member]) * len(sequence.ids))
            if aggregation == "constant":
                return 1 / (len(minibatch[sequence.member]) * self.loss["constant_length"])
            return 1 / tokens[sequence.member]

        return weight

    def run(self):
        """Takes all steps. Returns the diagnostics of each member."""
        self.prepare()
        epochs, minibatches = self.optimizer["epochs"], self.optimizer["minibatches"]
        sums = torch.zeros(len(self.members), 9, dtype=torch.float64, device=self.device)
        norms = [[] for _ in self.members]
        for step in range(epochs * minibatches):
            index = step % minibatches
            minibatch = [member[len(member) * index // minibatches:len(member) * (index + 1) // minibatches]
                         for member in self.members]
            sums += self.gradient(minibatch, step == 0)
            for member, sequences in enumerate(minibatch):
                if sequences:
                    norms[member].append(self.step(member))
            for parameter in (parameter for member in self.parameters for parameter in member):
                parameter.grad = None
        self.check_weights()
        return [diagnostics(of_member, of_norms, epochs) for of_member, of_norms in zip(sums.tolist(), norms)]

    def gradient(self, minibatch, first):
        """Adds the gradients of a minibatch up in the parameters of all processes. Returns the sums of its tokens."""
        sums = torch.zeros(len(self.members), 9, dtype=torch.float64, device=self.device)
        weight_of = self.weights(minibatch)
        batches = dealt(minibatch, self.job["micro_batch_tokens"])
        for batch in batches:
            member = batch[0].member if batch else 0
            with self.own(member):
                logprobs, entropies = passed(self.policy, batch, self.device)
                if batch is None:
                    # Gathers the layers with the others, and adds nothing.
                    (logprobs.sum() * 0).backward()
                else:
                    loss, of_batch = self.token_losses(batch, weight_of, logprobs, entropies, first)
                    loss.backward()
                    sums[member] += of_batch
            self.done += sum(map(len, minibatch)) / len(batches)
            if dist.get_rank() == 0:
                print(json.dumps({"progress": min(1.0, self.done / self.total)}), flush=True)
        return summed(sums)

    def token_losses(self, batch, weight_of, logprobs, entropies, first):
        """The loss of a micro-batch, and the sums over its tokens that diagnostics are made of."""
        def spread(number_of):
            numbers = [number_of(sequence) for sequence in batch for _ in sequence.ids]
            return torch.tensor(numbers, dtype=torch.float64, device=self.device)

        places = torch.cat([torch.arange(sequence.first, sequence.first + len(sequence.ids), device=self.device)
                            for sequence in batch])
        logprob, entropy = logprobs.double(), entropies.double()
        now = logprob.detach()
        sampled, old = self.sampled[places], self.old[places]
        weight, advantage = spread(weight_of), spread(lambda sequence: sequence.advantage)
        ratio = torch.exp((logprob - torch.where(old.isnan(), now, old)).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO))
        kl = clipped = capped = torch.zeros_like(now)
        if not self.is_policy_gradient:
            loss = -logprob
            total = loss
        else:
            rule = self.loss
            loss, clipped = clipped_loss(rule, ratio, advantage)
            cap = rule.get("importance_cap")
            if cap is not None:
                importance = (torch.where(old.isnan(), now, old) - sampled).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
                capped = (importance > cap).double()
                loss = loss * importance.clamp(max=cap)
            total = loss
            if rule["entropy"]:
                total = total - rule["entropy"] * entropy
            if self.reference is not None:
                reference = self.reference[places]
                q = torch.where(reference.isnan(), now, reference) - logprob
                q = q.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
                kl = (q.exp() - q - 1).clamp(max=LARGEST_KL)
                total = total + rule["kl"] * kl
        if not torch.isfinite(total).all():
            names = sorted({sequence.id for sequence in batch})
            raise Refused(f"the loss is not finite (NaN or infinity) for member {batch[0].member} in one of the sequences "
                          f"{', '.join(names[:8])}")
        mismatch = (sampled - now).abs()
        measured = ~mismatch.isnan() if first else torch.zeros_like(mismatch, dtype=torch.bool)
        parts = [torch.ones_like(now), weight * loss, entropy, clipped, ratio, kl,
                 torch.where(measured, mismatch, 0.0), measured.double(), capped]
        return (weight * total).sum(), torch.stack([part.detach().double().sum() for part in parts])

    def step(self, member):
        """Clips a member's gradient, summed over all processes, and takes its step. Returns the norm before clipping."""
        parameters = self.parameters[member]
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        flat = summed(torch.cat([parameter.grad.flatten() for parameter in parameters]))
        parts = flat.split([parameter.numel() for parameter in parameters])
        for name, part in zip(self.names[member], parts):
            if not torch.isfinite(part).all():
                raise Refused(f"the gradient of `{name}` of member {member} is not finite (NaN or infinity)")
        norm = flat.double().norm().item()
        largest = self.optimizer["max_grad_norm"]
        scale = min(1.0, largest / (norm + 1e-6)) if largest > 0 else 1.0
        for parameter, part in zip(parameters, parts):
            parameter.grad = part.view_as(parameter) * scale
        self.optimizers[member].step()
        return norm

    def check_weights(self):
        """Refuses weights that are not finite, and processes whose weights are not the same."""
        for member, parameters in enumerate(self.parameters):
            for name, parameter in zip(self.names[member], parameters):
                if not torch.isfinite(parameter).all():
                    raise Refused(f"the weight `{name}` of member {member} is not finite (NaN or infinity)")
            norms = torch.stack([parameter.detach().double().norm() for parameter in parameters])
            largest, least = norms.clone(), norms.clone()
            dist.all_reduce(largest, dist.ReduceOp.MAX)
            dist.all_reduce(least, dist.ReduceOp.MIN)
            if not torch.equal(largest, least):
                raise RuntimeError(f"the processes have different weights of member {member}")


def clipped_loss(rule, ratio, advantage):
    """The clipped policy gradient (PPO with a low, a high and a dual clip), and which tokens it takes the gradient from."""
    plain = -advantage * ratio
    held = -advantage * ratio.detach().clamp(1 - rule["clip_low"], 1 + rule["clip_high"])
    clipped = held > plain.detach()
    loss = torch.where(clipped, held, plain)
    if rule["clip_dual"] is not None:
        bound = -advantage * rule["clip_dual"]
        over = (advantage < 0) & (loss.detach() > bound)
        loss, clipped = torch.where(over, bound, loss), clipped | over
    return loss, clipped.double()


def diagnostics(sums, norms, epochs):
    """Means, as crates/engine/src/learn/diagnostics.rs takes them."""
    tokens, loss, entropy, clipped, ratio, kl, mismatch, measured, capped = sums

    def mean(total, count):
        return total / count if count else 0.0

    return {
        "policy_loss": mean(loss, len(norms)),
        "grad_norm": mean(sum(norms), len(norms)),
        "entropy": mean(entropy, tokens),
        "clip_share": mean(clipped, tokens),
        "ratio": mean(ratio, tokens),
        "sampler_mismatch": mean(mismatch, measured),
        "capped_share": mean(capped, tokens),
        "kl": mean(kl, tokens),
        "tokens": int(tokens) // epochs,
    }


def member_name(member):
    return f"member{member}"


def reference_name(member):
    return f"reference{member}"


def moment_name(name):
    """`model.layers.0.self_attn.q_proj.lora_A` for peft's name of the factor."""
    return name.removeprefix("base_model.model.").removesuffix(".weight")


def adapter_folders(folder, job):
    """The folder of each adapter by its name here."""
    folders = {member_name(member): folder / "members" / str(member) for member in range(len(job["references"]))}
    for member, reference in enumerate(job["references"]):
        if reference == "version":
            folders[reference_name(member)] = folder / "references" / str(member)
    return folders


def shape_of(folder, config):
    shape = LoraConfig.from_pretrained(folder)
    shape.inference_mode, shape.lora_dropout = False, 0.0
    # Else peft warns that the base has another name here.
    shape.base_model_name_or_path = config.name_or_path
    return shape


def make_optimizer(settings, parameters, names, folder, device):
    """AdamW, continued from the state in `folder` if there is one."""
    optimizer = torch.optim.AdamW(parameters, lr=settings["learning_rate"], betas=(settings["beta1"], settings["beta2"]),
                                  eps=settings["eps"], weight_decay=settings["weight_decay"])
    file = folder / "optimizer.safetensors"
    if file.is_file():
        state = load_file(file, device=str(device))
        for name, parameter in zip(names, parameters):
            moments = {moment: state[f"{moment_name(name)}.{moment}"].clone() for moment in ("exp_avg", "exp_avg_sq")}
            optimizer.state[parameter] = {"step": state["step"][0].to("cpu", torch.float32), **moments}
    return optimizer


def write(out, names, parameters, optimizer):
    """A member's weights and optimizer state, in the project's formats."""
    out.mkdir(parents=True)
    values = {name: parameter.detach().cpu() for name, parameter in zip(names, parameters)}
    save_file(values, out / "adapter_model.safetensors", metadata={"format": "pt"})
    state, steps = {}, 0
    for name, parameter in zip(names, parameters):
        kept = optimizer.state.get(parameter, {})
        steps = int(kept.get("step", 0))
        for moment in ("exp_avg", "exp_avg_sq"):
            moments = kept[moment] if kept else torch.zeros_like(parameter)
            state[f"{moment_name(name)}.{moment}"] = moments.detach().cpu()
    state["step"] = torch.tensor([steps], dtype=torch.int64)
    save_file(state, out / "optimizer.safetensors")


def update(folder):
    start = time.monotonic()
    job, members, tokens = read_job(folder)
    base = Path(job["base"])
    config = AutoConfig.from_pretrained(base)
    config.attention_dropout = 0.0
    needs_logprobs = job["loss"] != "cross_entropy" and job["loss"]["old_policy"] == "sampler"
    for sequence in (sequence for member in members for sequence in member):
        sequence.check(config, needs_logprobs)
    if not tokens:
        raise Refused("there are no sequences to learn from")
    device, mesh = place(job)
    folders = adapter_folders(folder, job)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[job["dtype"]]
    policy = Policy(config, dtype, {name: shape_of(of, config) for name, of in folders.items()}, job["recompute"])
    policy.shard(mesh)
    adapters = {name: load_file(of / "adapter_model.safetensors") for name, of in folders.items()}
    policy.load(base, config, device, adapters)
    names = [sorted(adapters[member_name(member)]) for member in range(len(members))]
    learning = Update(job, members, tokens, policy, device, names, folders)
    found = learning.run()
    if dist.get_rank() == 0:
        for member in range(len(members)):
            write(folder / "out" / str(member), names[member], learning.parameters[member], learning.optimizers[member])
        result = {"adapters": found, "halvings": 0, "seconds": time.monotonic() - start}
        (folder / "out" / "diagnostics.json").write_text(json.dumps(result, indent=2) + "\n")
    dist.barrier()
    dist.destroy_process_group()


@record
def main():
    folder = Path(sys.argv[1])
    try:
        update(folder)
    except Refused as refusal:
        out = folder / "out"
        out.mkdir(exist_ok=True)
        # Every process may refuse, and each has its own reason.
        own = out / f"refused-{os.environ['RANK']}"
        own.write_text(str(refusal))
        own.replace(out / "refused")
        raise


if __name__ == "__main__":
    main()
