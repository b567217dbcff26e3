"""Run transformers' common model tests (`ModelTesterMixin`) on tiny models.

The sdist contains `ModelTesterMixin`, but not the test files of the models that use it.
"""

import unittest

import torch
import transformers

from . import test_modeling_common as common

SIZES = {"vocab_size": 60, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
PADS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DROPOUT = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
MODELS = {
    "Bert": ({**SIZES, **PADS, **DROPOUT, "max_position_embeddings": 64}, ("Model", "ForMaskedLM", "ForSequenceClassification")),
    "Electra": ({**SIZES, **PADS, **DROPOUT, "embedding_size": 32}, ("Model", "ForMaskedLM")),
    "GPT2": ({"vocab_size": 60, "n_layer": 2, "n_head": 4, "n_embd": 32, "n_positions": 64, **PADS}, ("Model", "LMHeadModel")),
    "Llama": ({**SIZES, **PADS, "num_key_value_heads": 2}, ("Model", "ForCausalLM", "ForSequenceClassification")),
    "Mistral": ({**SIZES, **PADS, "num_key_value_heads": 2}, ("Model", "ForCausalLM")),
}  # fmt: skip


class Tester:
    """The model tester that the common tests expect: it creates a configuration and inputs."""

    def __init__(self, config_class, sizes):
        self.config_class, self.sizes = config_class, sizes
        self.batch_size, self.seq_length, self.is_training = 3, 7, True
        self.hidden_size = sizes.get("hidden_size", sizes.get("n_embd"))
        self.num_hidden_layers, self.num_attention_heads = 2, 4
        self.encoder_seq_length = self.key_length = self.seq_length

    def get_config(self):
        return self.config_class(**self.sizes)

    def prepare_config_and_inputs_for_common(self):
        ids = torch.randint(3, self.sizes["vocab_size"], (self.batch_size, self.seq_length))
        return self.get_config(), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def suite(name, sizes, heads):
    classes = tuple(getattr(transformers, name + head) for head in heads)

    class Suite(common.ModelTesterMixin, unittest.TestCase):
        all_model_classes = classes
        has_attentions = True

        def setUp(self):
            self.model_tester = Tester(classes[0].config_class, sizes)

    Suite.__name__ = Suite.__qualname__ = f"{name}Test"
    return Suite


for _name, (_sizes, _heads) in MODELS.items():
    globals()[f"{_name}Test"] = suite(_name, _sizes, _heads)
