"""transformers, with tiny models: forward, loss, gradients, `generate`, saving and loading, `Trainer`."""

import sys
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
SIZES = {"vocab_size": 60, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
IMAGE = {"image_size": 16, "patch_size": 4, "num_channels": 3}
torch.manual_seed(0)
ids = torch.randint(3, 60, (2, 9))
mask = torch.ones(2, 9, dtype=torch.long)
mask[1, :3] = 0
pictures = torch.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
text = {"input_ids": ids, "attention_mask": mask}

MODELS = {
    "BertForSequenceClassification": ({**SIZES}, {**text, "labels": torch.tensor([0, 1])}),
    "RobertaForMaskedLM": ({**SIZES}, {**text, "labels": ids}),
    "DistilBertForTokenClassification": (
        {"vocab_size": 60, "n_layers": 2, "n_heads": 4, "dim": 32, "hidden_dim": 64},
        {**text, "labels": ids % 2},
    ),
    "GPT2LMHeadModel": ({"vocab_size": 60, "n_layer": 2, "n_head": 4, "n_embd": 32, "n_positions": 64}, {**text, "labels": ids}),
    "LlamaForCausalLM": ({**SIZES, "num_key_value_heads": 2}, {**text, "labels": ids}),
    "MistralForCausalLM": ({**SIZES, "num_key_value_heads": 2, "sliding_window": 4}, {**text, "labels": ids}),
    "Qwen2ForCausalLM": ({**SIZES, "num_key_value_heads": 2}, {**text, "labels": ids}),
    "GemmaForCausalLM": ({**SIZES, "num_key_value_heads": 1, "head_dim": 8}, {**text, "labels": ids}),
    "MixtralForCausalLM": (
        {**SIZES, "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2},
        {**text, "labels": ids},
    ),
    "MambaForCausalLM": ({"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}, {"input_ids": ids, "labels": ids}),
    "T5ForConditionalGeneration": (
        {"vocab_size": 60, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
        {**text, "labels": ids[:, :5].contiguous()},
    ),
    "BartForConditionalGeneration": (
        {"vocab_size": 60, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64},
        {**text, "labels": ids[:, :5].contiguous()},
    ),
    "ViTForImageClassification": ({**SIZES, **IMAGE}, {"pixel_values": pictures, "labels": torch.tensor([0, 1])}),
    "ConvNextForImageClassification": (
        {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "patch_size": 2},
        {"pixel_values": pictures.repeat(1, 1, 2, 2), "labels": torch.tensor([0, 1])},
    ),
    "Wav2Vec2ForCTC": (
        {**SIZES, "conv_dim": (16, 16), "conv_stride": (4, 4), "conv_kernel": (8, 4), "num_feat_extract_layers": 2,
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "ctc_loss_reduction": "mean"},
        {"input_values": torch.linspace(-1, 1, 2 * 400).reshape(2, 400), "labels": ids[:, :4].contiguous()},
    ),
}  # fmt: skip
built = {}
for name, (sizes, inputs) in MODELS.items():
    torch.manual_seed(0)
    model = getattr(transformers, name)
    model = built[name] = model(model.config_class(**sizes)).eval()
    output = model(**inputs)
    output.loss.backward()
    norm = sum(p.grad.double().square().sum() for p in model.parameters() if p.grad is not None).sqrt()
    print(
        name,
        sum(p.numel() for p in model.parameters()),
        f"{output.loss.item():.5f}",
        f"{norm.item():.4f}",
        tuple(output.logits.shape),
    )

for name in ("GPT2LMHeadModel", "LlamaForCausalLM", "MistralForCausalLM", "MambaForCausalLM", "T5ForConditionalGeneration"):
    print(name, built[name].generate(ids[:1], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
llama = built["LlamaForCausalLM"]
print("padded", llama.generate(ids, attention_mask=mask, max_new_tokens=4, do_sample=False, pad_token_id=0).tolist())
print("beams", llama.generate(ids[:1], max_new_tokens=5, num_beams=3, do_sample=False, pad_token_id=0).tolist())
torch.manual_seed(1)
print("sampled", llama.generate(ids[:1], max_new_tokens=6, do_sample=True, top_k=20, top_p=0.9, pad_token_id=0).tolist())
same = torch.stack([model(ids).logits for model in (llama, llama)]).unbind()
llama.set_attn_implementation("eager")
print("eager", torch.allclose(llama(ids).logits, same[0], atol=1e-5))

with tempfile.TemporaryDirectory() as folder:
    llama.save_pretrained(folder)
    again, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    print(
        "loaded",
        torch.allclose(again.eval()(ids).logits, llama(ids).logits, atol=1e-5),
        {key: len(value) for key, value in sorted(info.items())},
    )
    half = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    print("in bfloat16", half.dtype, type(AutoModel.from_pretrained(folder)).__name__)

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from language_model import generate, load_model  # noqa: E402

ROPE = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}  # fmt: skip
for name, options in {
    "LlamaForCausalLM": {"rope_parameters": ROPE, "tie_word_embeddings": True, "head_dim": 16},
    "MistralForCausalLM": {"sliding_window": None},
    "Qwen2ForCausalLM": {},
    "Qwen3ForCausalLM": {"head_dim": 16},
}.items():
    torch.manual_seed(0)
    model = getattr(transformers, name)
    model = model(model.config_class(**{**SIZES, "num_key_value_heads": 2, **options})).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model.save_pretrained(folder, max_shard_size="20KB")
        example = load_model(Path(folder))
        print("example", name, torch.allclose(example(ids), model(ids).logits, rtol=1e-4, atol=1e-5))
        written = model.generate(ids[:1], max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=None)
        print(list(generate(example, ids[0].tolist(), 8)) == written[0, 9:].tolist())
        static = model.generate(
            ids[:1], max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=None, cache_implementation="static"
        )
        print("static cache", static.tolist() == written.tolist())


class Lines(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        line = (torch.arange(8) + index) % 57 + 3
        return {"input_ids": line, "labels": line}


with tempfile.TemporaryDirectory() as folder:
    transformers.set_seed(0)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**MODELS["GPT2LMHeadModel"][0], resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    )
    arguments = TrainingArguments(
        folder, num_train_epochs=2, per_device_train_batch_size=4, learning_rate=1e-2, warmup_steps=2, weight_decay=0.01, logging_steps=4,
        save_steps=4, report_to=[], use_cpu=True, disable_tqdm=True, seed=0, eval_strategy="epoch", gradient_accumulation_steps=1,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=Lines(), eval_dataset=Lines())
    trainer.remove_callback(PrinterCallback)
    result = trainer.train()
    print("trained", result.global_step, f"{result.training_loss:.4f}", f"{trainer.evaluate()['eval_loss']:.4f}")
    print("history", [f"{entry['loss']:.4f}" for entry in trainer.state.log_history if "loss" in entry])
    resumed = Trainer(transformers.GPT2LMHeadModel(model.config), arguments, train_dataset=Lines(), eval_dataset=Lines())
    resumed.remove_callback(PrinterCallback)
    result = resumed.train(resume_from_checkpoint=f"{folder}/checkpoint-4")
    print(
        "resumed",
        result.global_step,
        all(torch.allclose(a, b, atol=1e-5) for a, b in zip(resumed.model.parameters(), model.parameters(), strict=True)),
    )
    print("predicted", trainer.predict(Lines()).predictions.shape)
