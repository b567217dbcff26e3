"""peft: several kinds of adapters in a small Llama, their losses and gradients, and merging an adapter."""

import torch
from peft import IA3Config, LoHaConfig, LoKrConfig, LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
torch.manual_seed(0)
tokens = torch.randint(0, 50, (2, 8))
KINDS = [
    LoraConfig(target_modules=["q_proj"], init_lora_weights=False),
    LoraConfig(target_modules=["q_proj"], use_dora=True),
    LoHaConfig(target_modules=["q_proj"], init_weights=False),
    LoKrConfig(target_modules=["q_proj"], init_weights=False),
    IA3Config(target_modules=["q_proj"], feedforward_modules=[]),
    PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
    PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
]
for config in KINDS:
    torch.manual_seed(0)
    model = get_peft_model(LlamaForCausalLM(LlamaConfig(**SIZES)).eval(), config).eval()
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(type(config).__name__, f"{loss.item():.5f} {norm.item():.5f}", model.get_nb_trainable_parameters())
torch.manual_seed(0)
model = get_peft_model(LlamaForCausalLM(LlamaConfig(**SIZES)).eval(), KINDS[0]).eval()
before = model(input_ids=tokens).logits
merged = model.merge_and_unload()
print(type(merged).__name__, bool(torch.allclose(merged(input_ids=tokens).logits, before, atol=1e-5)))
