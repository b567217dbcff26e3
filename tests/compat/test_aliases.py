"""Import aliases: every way to import a module by an alias returns the same module object."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import pickle
import pkgutil
import runpy
import subprocess
import sys
import textwrap
import threading

import pytest

from flambeau.engine.devices.aliases import alias, aliased_name, resolve

pytestmark = pytest.mark.slow

_count = itertools.count()


@pytest.fixture
def names(tmp_path, monkeypatch):
    """Create two packages with unique names. Return an unused alias, their names, and the list of their loaded modules."""
    number = next(_count)
    body, limb = f"body{number}", f"limb{number}"
    record = f"import builtins; builtins.loads{number}.append(__name__)\n"
    for path, text in {
        f"{body}/__init__.py": "",
        f"{body}/sub/__init__.py": "class Thing: pass\n",
        f"{body}/sub/leaf.py": "from . import Thing\nvalue = []\n",
        f"{body}/sub/tool.py": "import sys\nresult = (__name__, __package__, __spec__.name, sys.argv[1:])\n",
        f"{body}/broken.py": "import no_such_module\n",
        f"{body}/scan/__init__.py": "from .cumulate import cumulate\n",
        f"{body}/scan/cumulate.py": "def cumulate(): return 1\n",
        f"{body}/app/__init__.py": "",
        f"{body}/app/__main__.py": "result = 'ran'\n",
        f"{limb}/__init__.py": "",
        f"{limb}/nn/__init__.py": f"import {body}.nn as again\n",
        f"{limb}/nn/functional.py": "",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(record + text)
    loads: list[str] = []
    monkeypatch.setattr("builtins.loads" + str(number), loads, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield f"ghost{number}", body, limb, loads
    for name in [*sys.modules]:
        if name.partition(".")[0] in (f"ghost{number}", body, limb):
            del sys.modules[name]


def load(name):
    return importlib.import_module(name)


def test_a_submodule_does_not_replace_the_function_of_its_name(names):
    ghost, body, _, _ = names
    alias(ghost, body)
    module = load(f"{ghost}.scan.cumulate")
    assert module is load(f"{body}.scan.cumulate")
    assert load(f"{ghost}.scan").cumulate is module.cumulate
    assert load(f"{body}.scan").cumulate() == 1


def test_every_way_to_import_gives_the_same_module(names):
    ghost, body, _, loads = names
    alias(ghost, body)
    scope: dict = {}
    exec(f"import {ghost}.sub.leaf as a; from {ghost}.sub import leaf as b", scope)
    exec(f"from {body}.sub import leaf as c; import {ghost}; d = {ghost}.sub.leaf", scope)
    exec(f"from {ghost}.sub.leaf import value", scope)
    assert scope["a"] is scope["b"] is scope["c"] is scope["d"]
    assert scope["a"] is load(f"{ghost}.sub.leaf") is __import__(f"{ghost}.sub.leaf").sub.leaf
    assert importlib.import_module(".leaf", f"{ghost}.sub") is scope["a"]
    assert scope["value"] is scope["a"].value
    assert loads == [body, f"{body}.sub", f"{body}.sub.leaf"]


@pytest.mark.parametrize("first", [0, 1])
def test_either_name_may_come_first(names, first):
    ghost, body, _, loads = names
    alias(ghost, body)
    for prefix in (names[first], names[1 - first]):
        load(f"{prefix}.sub.leaf")
    assert load(ghost) is load(body)
    assert load(f"{ghost}.sub.leaf") is load(f"{body}.sub.leaf")
    assert len(loads) == len(set(loads)) == 3


def test_modules_keep_their_own_identity(names):
    ghost, body, _, _ = names
    alias(ghost, body)
    leaf = load(f"{ghost}.sub.leaf")
    assert (leaf.__name__, leaf.__package__) == (f"{body}.sub.leaf", f"{body}.sub")
    assert leaf.__spec__.name == f"{body}.sub.leaf" and leaf.__spec__.loader is leaf.__loader__
    assert load(ghost).__spec__.submodule_search_locations == load(ghost).__path__


def test_aliases_chain_and_the_longest_prefix_wins(names):
    ghost, body, limb, loads = names
    alias(ghost, body)
    alias(f"{body}.nn", f"{limb}.nn")
    assert resolve(f"{ghost}.nn.functional") == f"{limb}.nn.functional"
    assert resolve(f"{ghost}.sub") == f"{body}.sub"
    assert resolve(f"{ghost}less.nn") == f"{ghost}less.nn"
    assert aliased_name(f"{limb}.nn.functional", body) == f"{body}.nn.functional"
    assert aliased_name(f"{body}.sub", ghost) == f"{ghost}.sub" and aliased_name(f"{body}.sub", limb) == f"{body}.sub"
    functional = load(f"{ghost}.nn.functional")
    assert functional is load(f"{body}.nn.functional") is load(f"{limb}.nn.functional")
    assert load(ghost).nn is load(f"{limb}.nn") is load(f"{limb}.nn").again
    assert loads == [body, limb, f"{limb}.nn", f"{limb}.nn.functional"]


def test_nothing_is_imported_before_it_is_asked_for(names):
    ghost, body, limb, loads = names
    alias(ghost, body)
    alias(f"{body}.nn", f"{limb}.nn")
    assert loads == []
    assert importlib.util.find_spec(ghost).name == ghost
    assert loads == []
    load(ghost)
    assert importlib.util.find_spec(f"{ghost}.sub").origin.endswith("__init__.py")
    assert loads == [body]


def test_the_alias_wins_over_an_installed_package_of_that_name(names, tmp_path):
    ghost, body, _, _ = names
    (tmp_path / ghost).mkdir()
    (tmp_path / ghost / "__init__.py").write_text("raise AssertionError('the installed one was imported')")
    (tmp_path / ghost / "only_there.py").write_text("")
    alias(ghost, body)
    assert load(ghost) is load(body)
    with pytest.raises(ModuleNotFoundError):
        load(f"{ghost}.only_there")


def test_missing_modules(names):
    ghost, body, _, _ = names
    alias(ghost, body)
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{ghost}.nothing'") as error:
        load(f"{ghost}.nothing")
    assert error.value.name == f"{ghost}.nothing"
    assert importlib.util.find_spec(f"{ghost}.nothing") is None
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        load(f"{ghost}.broken")
    assert f"{ghost}.broken" not in sys.modules
    with pytest.raises(ImportError, match=f"cannot import name 'nothing' from '{body}'"):
        exec(f"from {ghost} import nothing")


def test_pickles_name_the_real_module_and_load_by_either_name(names):
    ghost, body, _, _ = names
    alias(ghost, body)
    thing = load(f"{ghost}.sub").Thing()
    data = pickle.dumps(thing, protocol=0)
    assert f"{body}.sub".encode() in data
    assert type(pickle.loads(data)) is type(thing)
    assert type(pickle.loads(data.replace(body.encode(), ghost.encode()))) is type(thing)


def test_reload(names):
    ghost, body, _, loads = names
    alias(ghost, body)
    leaf = load(f"{ghost}.sub.leaf")
    old = leaf.value
    assert importlib.reload(leaf) is leaf is load(f"{ghost}.sub.leaf")
    assert leaf.value is not old and loads.count(f"{body}.sub.leaf") == 2


def test_run_as_main(names, monkeypatch):
    ghost, body, _, _ = names
    alias(ghost, body)
    monkeypatch.setattr(sys, "argv", ["x", "y"])
    result = runpy.run_module(f"{ghost}.sub.tool", run_name="__main__")["result"]
    assert result == ("__main__", f"{ghost}.sub", f"{ghost}.sub.tool", ["y"])
    assert runpy.run_module(f"{ghost}.app")["result"] == "ran"


def test_walk_packages(names):
    ghost, body, _, _ = names
    alias(ghost, body)
    found = {each.name for each in pkgutil.walk_packages(load(f"{ghost}.sub").__path__, f"{ghost}.sub.")}
    assert found == {f"{ghost}.sub.leaf", f"{ghost}.sub.tool"}


def test_threads_importing_at_once_get_one_module(names, tmp_path):
    ghost, body, _, _ = names
    (tmp_path / body / "slow.py").write_text("import time; time.sleep(0.05); done = True")
    alias(ghost, body)
    found = []
    threads = [
        threading.Thread(target=lambda name: found.append(load(name).done), args=(f"{prefix}.slow",))
        for prefix in (ghost, body) * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8 and load(f"{ghost}.slow") is load(f"{body}.slow")


def test_repeating_an_alias_changes_nothing(names):
    ghost, body, _, _ = names
    alias(ghost, body)
    before = len(sys.meta_path)
    alias(ghost, body)
    assert len(sys.meta_path) == before and load(ghost) is load(body)


def test_refusals(names):
    ghost, body, limb, _ = names
    alias(ghost, body)
    with pytest.raises(ValueError, match=f"'{body}' to '{ghost}.sub': it would resolve to itself"):
        alias(body, f"{ghost}.sub")
    load(limb)
    with pytest.raises(ImportError, match=f"'{limb}' to '{body}': <module '{limb}' from .* is already"):
        alias(limb, body)
    load(body)
    alias(f"{ghost}2", body)  # the target may be loaded already
    assert load(f"{ghost}2") is load(body)


@pytest.mark.parametrize(
    ("face", "real"),
    [
        ("flambeau.nn", "flambeau_nnlib.nn"),
        ("flambeau.nn.functional", "flambeau_nnlib.nn.functional"),
        ("flambeau.optim", "flambeau_nnlib.optim"),
        ("flambeau.utils.data", "flambeau_nnlib.data"),
    ],
)
def test_the_faces_of_flambeau(face, real):
    code = f"""
        import sys, flambeau
        assert {real!r} not in sys.modules
        import {face}, {real}
        assert sys.modules[{face!r}] is sys.modules[{real!r}] is {face} is {real}
        assert {face}.__spec__.name == {face}.__name__ == {real!r}
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize(
    ("statement", "same"),
    [
        ("from torch.utils.data._utils.collate import default_collate as x", "torch.utils.data.default_collate"),
        ("import torch; x = torch.utils.data._utils.collate.default_collate", "torch.utils.data.default_collate"),
        ("from torch.utils.data._utils.worker import get_worker_info as x", "torch.utils.data.get_worker_info"),
        ("from torch.functional import einsum as x", "torch.einsum"),
        ("from torch.nn.modules.module import _IncompatibleKeys as x", "type(torch.nn.Module().load_state_dict({}))"),
        ("from torch.nn.init import _no_grad_trunc_normal_ as x", "torch.nn.init.trunc_normal_"),
        ("from torch.nn.init import _no_grad_fill_ as x", "torch.nn.init.constant_"),
        ("from torch.cuda.amp.grad_scaler import GradScaler as x", "torch.cuda.amp.GradScaler"),
        ("from torch.cuda.amp.autocast_mode import autocast as x", "torch.cuda.amp.autocast"),
        ("import torch; x = torch.return_types.max", "type(torch.ones(2, 2).max(0))"),
        ("import torch; x = torch.return_types.linalg_eigh", "type(torch.linalg.eigh(torch.eye(2)))"),
        ("import torch; x = torch.return_types.topk", "type(torch.ones(2).topk(1))"),
        ("from torch.return_types import sort as x", "type(torch.ones(2).sort())"),
    ],
)
def test_names_that_programs_import_from_elsewhere(statement, same):
    code = f"import flambeau; flambeau.install_as_torch()\n{statement}\nimport torch\nassert x is {same}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("module", "name"), [
    ("activation", "Softmax"), ("activation", "MultiheadAttention"), ("loss", "CrossEntropyLoss"), ("loss", "TripletMarginLoss"),
    ("pooling", "AdaptiveAvgPool2d"), ("pooling", "MaxPool2d"), ("rnn", "LSTM"), ("rnn", "LSTMCell"),
])  # fmt: skip
def test_layers_are_found_in_the_modules_that_pytorch_has_them_in(module, name):
    import flambeau as torch

    layer = getattr(torch.nn, name)
    assert getattr(importlib.import_module(f"flambeau.nn.modules.{module}"), name) is layer
    assert pickle.loads(f"cflambeau_nnlib.nn.modules.{module}\n{name}\n.".encode()) is layer


def test_losses_can_be_derived_from_the_base_that_pytorch_has():
    from flambeau.nn.modules.loss import _Loss, _WeightedLoss

    import flambeau as torch

    assert issubclass(torch.nn.CrossEntropyLoss, _WeightedLoss) and issubclass(torch.nn.TripletMarginLoss, _Loss)


def test_results_of_one_operation_are_of_one_type():
    import flambeau as torch

    x = torch.ones(3)
    assert type(torch.aminmax(x)) is type(torch.aminmax(x)) is torch.return_types.aminmax
    assert pickle.loads(pickle.dumps(x.sort())).values.tolist() == [1, 1, 1]
    with pytest.raises(AttributeError, match="has no attribute 'add'"):
        torch.return_types.add


def test_trees():
    import flambeau as torch
    from flambeau.utils import _pytree as pytree

    tree = {"a": (1, [2.5]), "b": None}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2.5, None] == pytree.tree_leaves(tree) and spec == pytree.tree_structure(tree)
    assert pytree.tree_unflatten(iter(leaves), spec) == tree
    with pytest.raises(ValueError, match="`leaves` has length 2 but the spec refers to a pytree that holds 3 items"):
        pytree.tree_unflatten([1, 2], spec)
    assert pytree.tree_map(lambda x, y: (x, y), [1, (2,)], [[3], (4,)]) == [(1, [3]), ((2, 4),)]
    assert pytree.tree_map(str, {"size": torch.Size([1, 2])}) == {"size": ("1", "2")}
    assert pytree.tree_map(len, [(1, 2), ["abc"]], is_leaf=lambda x: isinstance(x, tuple)) == [2, [3]]
    assert pytree.tree_map_only(float, lambda x: -x, tree) == {"a": (1, [-2.5]), "b": None}
    assert pytree.tree_map_only(lambda x: x is None, lambda x: 0, tree) == {"a": (1, [2.5]), "b": 0}
    assert pytree.tree_any(lambda x: x is None, tree) and not pytree.tree_all(lambda x: x is None, tree)
    for other in ([1, [2]], [1], [1, (2, 3)]):
        with pytest.raises(ValueError, match="mismatch"):
            pytree.tree_map(max, [1, (2,)], other)
    with pytest.raises(ValueError, match="Node keys mismatch"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})


def test_helpers_from_insides():
    from flambeau.nn.modules.utils import consume_prefix_in_state_dict_if_present
    from flambeau.nn.utils.stateless import functional_call

    import flambeau as torch
    from flambeau.compat._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    tensors = [torch.arange(4.0).reshape(2, 2), torch.tensor(7.0), torch.zeros(0)]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [0, 1, 2, 3, 7]
    parts = _unflatten_dense_tensors(flat, tensors)
    assert [each.tolist() for each in parts] == [each.tolist() for each in tensors]
    flat.zero_()
    assert parts[0].sum() == 0

    torch._assert(torch.tensor(True), "fine")
    with pytest.raises(AssertionError, match="not fine"):
        torch._assert(False, "not fine")

    model = torch.nn.Sequential(torch.nn.Linear(2, 1))
    state = torch.nn.DataParallel(model).state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"] and state._metadata == model.state_dict()._metadata
    with pytest.warns(FutureWarning, match="Please use `torch.func.functional_call`"):
        made = functional_call(model, {"0.weight": torch.ones(1, 2), "0.bias": torch.ones(1)}, torch.ones(2))
    assert made.tolist() == [3]


@pytest.mark.parametrize(
    "name",
    [
        "nn.attention", "nn.common_types", "nn.parallel.distributed", "nn.utils.stateless", "fx.experimental",
        "fx.operator_schemas", "distributed.constants",
    ],
)  # fmt: skip
def test_modules_that_need_no_import_of_their_own(name):
    code = f"import flambeau as torch; print(torch.{name}.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=500)
    assert shown.stdout.strip().endswith(name.rpartition(".")[2])


def test_devices_of_other_makers_are_not_there():
    """diffusers and accelerate call these functions through a table of device types."""
    import flambeau as torch

    torch.xpu.empty_cache(), torch.xpu.manual_seed(0), torch.xpu.manual_seed_all(0), torch.mps.manual_seed(0)
    assert torch.xpu.memory_allocated() == torch.xpu.max_memory_allocated() == 0 and not torch.xpu.is_initialized()
    for call in (torch.xpu.synchronize, torch.xpu.current_device, torch.xpu.init):
        with pytest.raises(AssertionError, match="not compiled with XPU enabled"):
            call()
    for call in (torch.mps.synchronize, torch.mps.empty_cache, torch.mps.current_allocated_memory):
        with pytest.raises(RuntimeError, match="without MPS backend"):
            call()


def test_what_there_is_and_what_not():
    import flambeau as torch
    from flambeau.nn import common_types

    assert not torch.compiler.is_compiling() and not torch.xpu.is_available() and not torch.mps.device_count()
    assert torch.compiler.disable(len)("ab") == torch.compiler.disable(recursive=False)(len)("ab") == 2
    assert "backend:" in torch.__config__.show() and "get_num_threads() : " in torch.__config__.parallel_info()
    assert common_types._size_2_t == int | tuple[int, int] and common_types._ratio_any_t == float | tuple[float, ...]


def test_dir_lists_names_that_are_loaded_on_first_use():
    import flambeau as torch

    names = dir(torch)
    assert {"special", "linalg", "nn", "optim", "utils", "save", "vmap", "ones"} <= {*names}
    assert all(hasattr(torch, name) for name in names)
