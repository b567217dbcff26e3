"""Every layer with the valid and invalid inputs of PyTorch's own tests, in both libraries."""

import inspect
import io
import warnings
from dataclasses import fields

import numpy as np
import pytest

import flambeau as ours

theirs = pytest.importorskip("torch")
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db  # noqa: E402

MADE_OF_MODULES = {"nn.TransformerEncoder"}
MODULES = [pytest.param(each, id=each.name) for each in module_db if each.name not in MADE_OF_MODULES]
DTYPES = [theirs.float32, theirs.float64]
TOLERANCE = {theirs.float32: 1e-4, theirs.float64: 1e-9}
ROUNDS_MORE = {"nn.CTCLoss": 10}  # factor of the tolerance: PyTorch's float32 error is that large
TRAINING = pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])


def converted(value, made=None):
    """Convert the tensors, dtypes and functions in a nested value to flambeau. `made` maps tensor ids to converted tensors."""
    made = {} if made is None else made
    if isinstance(value, theirs.Tensor):
        if id(value) not in made:
            tensor = ours.from_numpy(value.detach().contiguous().numpy().copy())
            made[id(value)] = tensor.requires_grad_(value.requires_grad)
        return made[id(value)]
    if isinstance(value, theirs.dtype):
        return getattr(ours, str(value).split(".")[1])
    if isinstance(value, theirs.nn.LinearCrossEntropyOptions):
        return ours.nn.LinearCrossEntropyOptions(**converted({each.name: getattr(value, each.name) for each in fields(value)}))
    if isinstance(value, (tuple, list)):
        return type(value)(converted(each, made) for each in value)
    if isinstance(value, dict):
        return {key: converted(each, made) for key, each in value.items()}
    return getattr(ours.nn.functional, getattr(value, "__name__", ""), value)


def named(module):
    return getattr(ours.nn, module.name.removeprefix("nn."))


def tensors(value):
    """Return all floating-point tensors in a nested value, in order."""
    if isinstance(value, (tuple, list)):
        return [each for one in value for each in tensors(one)]
    if isinstance(value, dict):
        return tensors(list(value.values()))
    return [value] if hasattr(value, "grad_fn") and value.is_floating_point() else []


def trained(torch, make, given, training):
    """Return the module, its results, and the gradients of inputs and parameters."""
    torch.manual_seed(3)
    args, kwargs, call_args, call_kwargs = given
    module = make(*args, **kwargs).train(training)
    torch.manual_seed(4)
    made = module(*call_args, **call_kwargs)
    results = tensors(made)
    loss = sum((each * (torch.arange(each.numel()) % 7 + 1).reshape(each.shape)).sum() for each in results)
    leaves = [each for each in tensors([call_args, call_kwargs]) if each.requires_grad] + list(module.parameters())
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True) if results and loss.requires_grad else []
    return module, results, gradients


def assert_close(got, wanted, tolerance, what):
    assert (got is None) == (wanted is None), what
    if wanted is not None:
        assert tuple(got.shape) == tuple(wanted.shape) and str(got.dtype) == str(wanted.dtype), what
        np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), tolerance, tolerance, err_msg=what)


@TRAINING
@pytest.mark.parametrize("module", MODULES)
def test_modules(module, training):
    """Compare `repr`, initial values, results and gradients."""
    for dtype in DTYPES:
        if dtype not in module.dtypes:
            continue
        theirs.manual_seed(0)
        for each in module.module_inputs_func(module, "cpu", dtype, True, training):
            made, called = each.constructor_input, each.forward_input
            if called is None:
                continue
            kwargs = {**made.kwargs, "dtype": dtype} if takes_dtype(module) else made.kwargs
            given = made.args, kwargs, called.args, called.kwargs
            tolerance = TOLERANCE[dtype] * ROUNDS_MORE.get(module.name, 1)
            what = f"{module.name}(*{made.args}, **{kwargs}) {each.desc}"[:300]
            mine = converted(given)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    there, wanted, slopes = trained(theirs, module.module_cls, given, training)
                except (NotImplementedError, RuntimeError):
                    continue  # PyTorch rejects this input
                here, got, found = trained(ours, named(module), mine, training)
            assert repr(here) == repr(there), what
            assert list(here.state_dict()) == list(there.state_dict()), what
            for name, value in there.state_dict().items():
                assert_close(here.state_dict()[name], value, tolerance, f"{what}: {name}")
            assert len(got) == len(wanted) and len(found) == len(slopes), what
            for a, b in zip([*got, *found], [*wanted, *slopes], strict=True):
                assert_close(a, b, tolerance, what)


def takes_dtype(module):
    return module.name in ("nn.RNN", "nn.GRU", "nn.LSTM") or "dtype" in inspect.signature(module.module_cls.__init__).parameters


WRONG = [each for each in MODULES if each.values[0].module_error_inputs_func is not None]


@pytest.mark.parametrize("module", WRONG)
def test_wrong_inputs(module):
    """Compare exceptions raised by the constructor or by the call."""
    there = module.values[0] if hasattr(module, "values") else module
    for error in there.module_error_inputs_func(there, "cpu", theirs.float64, False, True):
        made, called = error.module_error_input.constructor_input, error.module_error_input.forward_input
        args, kwargs = converted((made.args, made.kwargs))
        if error.error_on == ModuleErrorEnum.CONSTRUCTION_ERROR:
            with pytest.raises(error.error_type):
                named(there)(*args, **kwargs)
            continue
        layer = named(there)(*args, **kwargs)
        with pytest.raises(error.error_type):
            layer(*converted(called.args), **converted(called.kwargs))


LAZY = ("LazyConv", "LazyLinear")  # their pickles name hooks that the other library lacks


@pytest.mark.parametrize(("source", "target"), [(ours, theirs), (theirs, ours)], ids=["to PyTorch", "from PyTorch"])
@pytest.mark.parametrize("module", [each for each in MODULES if not each.id.removeprefix("nn.").startswith(LAZY)])
def test_whole_modules_in_files(module, source, target):
    """Modules saved by one library and loaded by the other compute the same."""
    for each in module.module_inputs_func(module, "cpu", theirs.float64, True, False):
        made, called = each.constructor_input, each.forward_input
        given = (made.args, made.kwargs), (called.args, called.kwargs) if called is not None else ((), {})
        mine = converted(given)
        (args, kwargs), cls = (given[0], module.module_cls) if source is theirs else (mine[0], named(module))
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = here = cls(*args, **kwargs).to(source.float64).eval()
            source.save(there, file)
            file.seek(0)
            loaded = target.load(file, weights_only=False)
            here, there = (here, loaded) if source is ours else (loaded, there)
            assert repr(here) == repr(there) and list(here.state_dict()) == list(there.state_dict())
            try:
                theirs.manual_seed(4)
                wanted = tensors(there(*given[1][0], **given[1][1]))
            except (NotImplementedError, RuntimeError, TypeError):
                continue  # PyTorch rejects this input
            ours.manual_seed(4)
            got = tensors(here(*mine[1][0], **mine[1][1]))
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert_close(a, b, 1e-6, f"{module.name} {each.desc}")
