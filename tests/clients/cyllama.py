"""llama.cpp's Vulkan backend, with a tiny model of random weights: many kernels, most told apart by constants alone."""

import os
import tempfile
from pathlib import Path

import gguf
import numpy as np

# Without this it takes no device of the processor's, and says nothing.
os.environ["GGML_VK_VISIBLE_DEVICES"] = "0"
from cyllama import LLM, GenerationConfig  # noqa: E402

WORDS, WIDTH, INNER, BLOCKS, HEADS = 320, 256, 512, 2, 4
random = np.random.default_rng(11)


def describe(model: gguf.GGUFWriter) -> None:
    model.add_context_length(512)
    model.add_embedding_length(WIDTH)
    model.add_feed_forward_length(INNER)
    model.add_block_count(BLOCKS)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(WORDS)


def add_words(model: gguf.GGUFWriter) -> None:
    """Three special words, each byte, and then letters behind the mark of a space."""
    kind = gguf.TokenType
    words = [("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)]
    words += [(f"<0x{byte:02X}>", kind.BYTE) for byte in range(256)]
    words += [(f"\u2581{chr(ord('a') + at)}", kind.NORMAL) for at in range(WORDS - len(words))]
    model.add_tokenizer_model("llama")
    model.add_token_list([word.encode() for word, _ in words])
    model.add_token_scores([0.0] * WORDS)
    model.add_token_types([kind for _, kind in words])
    model.add_unk_token_id(0)
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)


def add_weights(model: gguf.GGUFWriter) -> None:
    def matrix(name: str, rows: int, columns: int) -> None:
        model.add_tensor(f"{name}.weight", (random.standard_normal((rows, columns)) * 0.08).astype(np.float16))

    def norm(name: str) -> None:
        model.add_tensor(f"{name}.weight", (random.standard_normal(WIDTH) * 0.08 + 1).astype(np.float32))

    matrix("token_embd", WORDS, WIDTH)
    norm("output_norm")
    matrix("output", WORDS, WIDTH)
    for block in (f"blk.{at}" for at in range(BLOCKS)):
        norm(f"{block}.attn_norm")
        norm(f"{block}.ffn_norm")
        for name in ("q", "k", "v", "output"):
            matrix(f"{block}.attn_{name}", WIDTH, WIDTH)
        matrix(f"{block}.ffn_gate", INNER, WIDTH)
        matrix(f"{block}.ffn_up", INNER, WIDTH)
        matrix(f"{block}.ffn_down", WIDTH, INNER)


def write_model(path: Path) -> None:
    model = gguf.GGUFWriter(path, "llama")
    describe(model)
    add_words(model)
    add_weights(model)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


with tempfile.TemporaryDirectory() as name:
    path = Path(name) / "model.gguf"
    write_model(path)
    model = LLM(str(path), GenerationConfig(max_tokens=6, n_gpu_layers=99, temperature=0.0), verbose=False)
    print("cyllama", ascii(str(model("a b c d e f g h"))))
