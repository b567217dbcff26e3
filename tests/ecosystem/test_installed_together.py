"""Libraries that other libraries import if they are installed: none of them may break `import` of the others on flambeau."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

OPTIONAL = [
    "accelerate", "bitsandbytes", "datasets", "diffusers", "kornia", "optimum-quanto", "peft", "safetensors", "timm", "torchao",
    "torchdata", "torchmetrics",
]  # fmt: skip
PROGRAM = """
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from sentence_transformers import SentenceTransformer
from setfit import SetFitModel
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM, Trainer, ViTConfig, ViTModel
from trl import SFTTrainer

sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
llama = get_peft_model(LlamaForCausalLM(LlamaConfig(vocab_size=20, **sizes)), LoraConfig(target_modules=["q_proj"]))
tokens = torch.randint(0, 20, (2, 5))
optimizer = torch.optim.SGD([p for p in llama.parameters() if p.requires_grad], 0.1)
llama, optimizer = Accelerator(cpu=True).prepare(llama, optimizer)
loss = llama(input_ids=tokens, labels=tokens).loss
loss.backward()
optimizer.step()
print(torch.__version__, loss.isfinite().item())
print(BertForSequenceClassification(BertConfig(vocab_size=20, **sizes))(tokens).logits.shape)
print(ViTModel(ViTConfig(image_size=8, patch_size=4, **sizes))(torch.ones(1, 3, 8, 8)).last_hidden_state.shape)
"""


def _missing():
    wanted = [*OPTIONAL, "transformers", "trl", "setfit", "sentence-transformers"]
    installed = {distribution.name.lower().replace("_", "-") for distribution in importlib.metadata.distributions()}
    return [name for name in wanted if name not in installed]


@pytest.mark.skipif(bool(_missing()), reason=f"not installed: {', '.join(_missing())}")
def test_libraries_import_each_other():
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", "-c", PROGRAM],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "FLAMBEAU_AS_TORCH": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    version, logits, states = done.stdout.strip().splitlines()[-3:]
    assert "flambeau" in version and version.endswith("True")
    assert (logits, states) == ("torch.Size([2, 2])", "torch.Size([1, 5, 16])")
