"""HTML representations in notebooks, for programs that register them with IPython's display formatter. `repr` is unchanged."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import OrderedDict
from html.parser import HTMLParser

import pytest

import flambeau as torch
from flambeau import nn
from flambeau_nnlib import notebooks


class Formatter:
    """Stand-in for IPython's display formatter, which looks up functions by the module and name of a type."""

    def __init__(self) -> None:
        self.formatters = {"text/html": self}
        self.by_name, self.by_type = {}, {}

    def for_type_by_name(self, module, name, function):
        self.by_name[module, name] = function

    def for_type(self, cls, function):
        self.by_type[cls] = function

    def __call__(self, value):
        for cls in type(value).__mro__:
            function = self.by_type.get(cls) or self.by_name.get((cls.__module__, cls.__name__))
            if function is not None:
                return function(value)
        return None


class HTMLText(HTMLParser):
    """Extract the text of HTML, and assert that tags are balanced."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.text = [], ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag != "script"
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def shown():
    formatter = Formatter()
    notebooks.register(formatter)
    return formatter


def test_modules(shown):
    net = nn.Sequential(OrderedDict(first=nn.Linear(4, 3), norm=nn.BatchNorm1d(3), rest=nn.Sequential(nn.ReLU())))
    before = repr(net)
    words = HTMLText(shown(net)).text
    assert "first Linear(in_features=4, out_features=3, bias=True) weight 3×4, bias 3, 15 parameters" in words
    assert "running_mean 3" in words and "ReLU" in words and "21 parameters" in words
    assert repr(net) == before and not hasattr(net, "_repr_html_")


def test_state_dicts_and_no_other_dictionaries(shown):
    words = HTMLText(shown(nn.Linear(4, 3).state_dict())).text
    assert re.search(r"weight3×4float3248cpu", words)
    assert shown(OrderedDict(a=1)) is None and shown(OrderedDict()) is None and shown({"a": 1}) is None


def test_optimizers(shown):
    net = nn.Linear(4, 3)
    groups = [{"params": [net.weight], "lr": 0.5}, {"params": [net.bias]}]
    words = HTMLText(shown(torch.optim.SGD(groups, lr=0.1, momentum=0.9))).text
    assert (
        "SGD" in words
        and "01 tensors, 12 numbers0.5" in words
        and "11 tensors, 3 numbers0.1" in words
        and "momentum=0.9" in words
    )


def test_modules_that_are_shown_by_their_repr(shown):
    class Named(nn.Module):
        def __repr__(self):
            return "Named!"

    assert shown(Named()) is None and shown(nn.Sequential(Named())) is None
    assert shown(nn.Sequential(nn.LazyLinear(3))) is None
    assert shown(nn.Sequential(nn.ModuleList([nn.Linear(1, 1)]))) is not None


def test_nothing_is_registered_by_default():
    code = (
        "import sys, types\n"
        "sys.modules['IPython'] = types.SimpleNamespace(get_ipython=lambda: 1 / 0)\n"
        "import flambeau.nn, sys\n"
        "print('flambeau_nnlib.notebooks' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False"]


def test_tensors_are_shown_by_their_repr(shown):
    assert shown(torch.ones(2)) is None


def test_classes_of_the_same_name_elsewhere_are_left_alone(shown):
    other = type("Module", (), {"__module__": "torch.nn.modules.module"})
    assert shown(other()) is None
