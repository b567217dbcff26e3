"""transformers: tiny configurations: forward, loss, gradients, generate, saved and loaded again."""

import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

SIZES = {"vocab_size": 60, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}


def show(name, model, **inputs):
    model.eval()
    output = model(**inputs)
    output.loss.backward()
    norm = sum(p.grad.double().square().sum() for p in model.parameters() if p.grad is not None).sqrt()
    print(name, f"{output.loss.item():.5f}", f"{norm.item():.4f}", tuple(output.logits.shape))


torch.manual_seed(0)
ids = torch.randint(3, 60, (2, 9))
bert = BertForSequenceClassification(BertConfig(**SIZES))
show("bert", bert, input_ids=ids, labels=torch.tensor([0, 1]))
torch.manual_seed(0)
gpt = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_layer=2, n_head=4, n_embd=32, n_positions=64))
show("gpt2", gpt, input_ids=ids, labels=ids)
torch.manual_seed(0)
llama = LlamaForCausalLM(LlamaConfig(**SIZES, num_key_value_heads=2))
show("llama", llama, input_ids=ids, labels=ids)
torch.manual_seed(0)
t5 = T5ForConditionalGeneration(
    T5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
)
show("t5", t5, input_ids=ids, labels=ids[:, :5].contiguous())
for name, model in (("gpt2", gpt), ("llama", llama)):
    print(name, model.generate(ids[:1], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
torch.manual_seed(1)
print("sampled", llama.generate(ids[:1], max_new_tokens=6, do_sample=True, top_k=20, pad_token_id=0).tolist())
with tempfile.TemporaryDirectory() as folder:
    llama.save_pretrained(folder)
    again = LlamaForCausalLM.from_pretrained(folder)
    print("loaded", torch.equal(again(ids).logits, llama(ids).logits))
