"""Small programs that stress autograd have the same results or errors in flambeau and PyTorch."""

from __future__ import annotations

import re
import warnings

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def programs(**named):
    PROGRAMS.update(named)


def described(value, torch):
    """Convert a value to types that both libraries share."""
    if isinstance(value, torch.Tensor):
        name = value.grad_fn.name() if value.grad_fn is not None else None
        return (tuple(value.shape), str(value.dtype).split(".")[-1], value.requires_grad, plain(name), numbers(value.detach()))
    if isinstance(value, (tuple, list)):
        return [described(each, torch) for each in value]
    if isinstance(value, dict):
        return {name: described(each, torch) for name, each in value.items()}
    if isinstance(value, str):
        return plain(value)
    return repr(value)


def numbers(tensor):
    return [round(each, 4) if isinstance(each, float) else each for each in tensor.reshape(-1).tolist()]


def plain(text):
    """Remove PyTorch's details from a message: overload numbers, names of view kernels, addresses."""
    if text is None:
        return None
    text = re.sub(r"Backward\d\b", "Backward", text)
    text = re.sub(
        r"(AsStrided|Slice|Select|ReshapeAlias|View|Squeeze|Transpose|T|Copy|Clone|Zero|Fill)Backwards?\b", "View", text
    )
    return re.sub(r"0x[0-9a-f]+", "0x", text).replace("flambeau", "torch").removesuffix(".").replace("Identity", "View")


def outcome(function, torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(function(torch), torch)
        except Exception as error:
            return type(error).__name__, plain(str(error).split("\n")[0])


def leaf(torch, *sizes):
    return torch.ones(*sizes, requires_grad=True)


def grads(*tensors):
    return [each.grad for each in tensors]


# --- backward and grad --------------------------------------------------------------------------------------------


@program
def twice(torch):
    x = leaf(torch, 2)
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def third_order(torch):
    x = leaf(torch, 2)
    y, found = (x**3).sum(), []
    for _ in range(3):
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        found.append(g.detach())
        y = g.sum()
    return found


@program
def inputs_that_are_no_leaves(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    z = x * y
    (z * 2).sum().backward(inputs=[z, y])
    return grads(x, y, z)


@program
def edges(torch):
    x = leaf(torch, 2)
    y = x * 2
    edge, of_leaf = (torch.autograd.graph.get_gradient_edge(each) for each in (y, x))
    return (
        type(edge.node).__name__,
        edge.output_nr,
        type(of_leaf.node).__name__,
        torch.autograd.grad((y * 3).sum(), [edge, of_leaf]),
    )


programs(
    unused=lambda t: t.autograd.grad(leaf(t, 2).sum(), leaf(t, 2)),
    unused_allowed=lambda t: t.autograd.grad(leaf(t, 2).sum(), leaf(t, 2), allow_unused=True),
    unused_materialized=lambda t: t.autograd.grad(leaf(t, 2).sum(), leaf(t, 2), materialize_grads=True),
    materialize_refused=lambda t: t.autograd.grad(leaf(t, 2).sum(), leaf(t, 2), allow_unused=False, materialize_grads=True),
    input_without_grad=lambda t: t.autograd.grad(leaf(t, 2).sum(), t.ones(2)),
    not_a_scalar=lambda t: (leaf(t, 2) * 2).backward(),
    complex_scalar=lambda t: t.ones((), dtype=t.complex64, requires_grad=True).backward(),
    without_grad=lambda t: t.ones(()).backward(),
    weight_of_another_shape=lambda t: (leaf(t, 2) * 2).backward(t.ones(3)),
    weight_of_another_kind=lambda t: (leaf(t, 2) * 2).backward(t.ones(2, dtype=t.complex64)),
    weight_that_is_no_tensor=lambda t: t.autograd.backward([leaf(t, 2) * 2], [3.0]),
    no_inputs=lambda t: leaf(t, 2).sum().backward(inputs=[]),
    no_inputs_of_grad=lambda t: t.autograd.grad(leaf(t, 2).sum(), []),
    batches_of_weights=lambda t: (lambda x: t.autograd.grad(x**2, x, t.eye(2), is_grads_batched=True))(leaf(t, 2)),
    wrong_batch_of_weights=lambda t: (lambda x: t.autograd.grad(x**2, x, t.ones(3), is_grads_batched=True))(leaf(t, 2)),
    assigned_shape=lambda t: setattr(leaf(t, 3), "grad", t.ones(2)),
    assigned_type=lambda t: setattr(leaf(t, 3), "grad", 3),
    grad_of_integers=lambda t: t.ones(2, dtype=t.int64).requires_grad_(),
    retain_without=lambda t: t.ones(2).retain_grad(),
    requires_grad_of_result=lambda t: setattr(leaf(t, 2) * 2, "requires_grad", False),
    hook_without=lambda t: t.ones(2).register_hook(print),
    deepcopy_of_result=lambda t: __import__("copy").deepcopy(leaf(t, 2) * 2),
)


@program
def mixed_dtypes(torch):
    x, y = torch.ones(3, dtype=torch.float64, requires_grad=True), leaf(torch, 3)
    (x * y).sum().backward()
    return grads(x, y)


@program
def accumulated_in_place(torch):
    x = leaf(torch, 3)
    x.grad = kept = torch.ones(3)
    (x * 2).sum().backward()
    return kept, kept is x.grad


# --- hooks --------------------------------------------------------------------------------------------------------


def with_hooks(torch, log, run):
    x, b = leaf(torch, 2), leaf(torch, 2)
    y = x * 2
    z = y * b
    w = z + y
    for name, tensor in {"x": x, "b": b, "y": y, "z": z, "w": w}.items():
        tensor.register_hook(lambda g, name=name: log.append((name, g.tolist())))
        if tensor.grad_fn is not None:
            tensor.grad_fn.register_hook(lambda i, o, name=name: log.append((f"post {name}", len(i), len(o))))
            tensor.grad_fn.register_prehook(lambda o, name=name: log.append((f"pre {name}", len(o))))
        else:
            tensor.register_post_accumulate_grad_hook(lambda p, name=name: log.append((f"done {name}", p.grad.tolist())))
    y.retain_grad()
    found = run(x, b, y, z, w)
    return log, found, x.grad, b.grad, y.grad


programs(
    hooks_of_backward=lambda t: with_hooks(t, [], lambda x, b, y, z, w: w.sum().backward()),
    hooks_of_grad=lambda t: with_hooks(t, [], lambda x, b, y, z, w: t.autograd.grad(w.sum(), [y, x])),
    hooks_of_inputs=lambda t: with_hooks(t, [], lambda x, b, y, z, w: w.sum().backward(inputs=[b, y])),
)


@program
def replacing_hooks(torch):
    x = leaf(torch, 2)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    x.register_hook(lambda g: g + 1)
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    y.grad_fn.register_hook(lambda i, o: (i[0] + 100, *i[1:]))
    y.sum().backward()
    return grads(x, y)


@program
def captured_before_the_hooks_of_a_node(torch):
    x = leaf(torch, 2)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    y.register_hook(lambda g: g * 3)
    return torch.autograd.grad((y * 1).sum(), [y, x])


def wrong_hook(torch, answer):
    x = leaf(torch, 2)
    x.register_hook(lambda g: answer)
    (x * 2).sum().backward()


programs(
    hook_that_resizes=lambda t: wrong_hook(t, t.ones(3)),
    hook_that_gives_a_number=lambda t: wrong_hook(t, 3),
)


@program
def hooks_and_in_place(torch):
    log, x = [], leaf(torch, 2)
    y = x * 2
    y.register_hook(lambda g: log.append(("before", g.tolist())))
    y.retain_grad()
    z = y * 2
    y.mul_(3)
    y.register_hook(lambda g: log.append(("after", g.tolist())))
    (y + z).sum().backward()
    return log, grads(x, y), y.retains_grad


@program
def multi_grad_hooks(torch):
    calls = []
    a, b = leaf(torch, 2), leaf(torch, 2)
    c, d = a * b, a * b
    register = torch.autograd.graph.register_multi_grad_hook
    register((a, b, c, d), lambda g: calls.append([each is not None for each in g]))
    register((a, b, c, d), calls.append, mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    return calls


# --- in place -----------------------------------------------------------------------------------------------------


def changed(torch, change, size=4):
    """Apply an in-place change to `y = x * 2`; return y, x.grad, the node's name and y's version."""
    x = torch.arange(1.0, 1.0 + size).requires_grad_()
    y = x * 2
    made = change(y)
    y = y if made is None else made
    (y * torch.arange(1.0, 1 + y.numel()).reshape(y.shape)).sum().backward()
    return y, x.grad, y.grad_fn.name(), y._version


def done(part):
    """Discard the changed view and return None, so that `changed` returns the whole tensor."""


def masked_add(y, mask):
    y[mask] += y[mask] * 2


CHANGES = {
    "add": lambda t, y: y.add_(1), "mul_self": lambda t, y: y.mul_(y), "mul": lambda t, y: y.mul_(t.tensor(3.0)),
    "exp": lambda t, y: y.exp_(), "sin": lambda t, y: y.sin_(), "pow": lambda t, y: y.pow_(3), "div_self": lambda t, y: y.div_(y + 1),
    "relu": lambda t, y: y.relu_(), "clamp": lambda t, y: y.clamp_(3, 5), "zero": lambda t, y: y.zero_(), "fill": lambda t, y: y.fill_(3),
    "copy": lambda t, y: y.copy_(t.ones(4)), "item": lambda t, y: y.__setitem__(0, 5), "slice": lambda t, y: y.__setitem__(slice(1, 3), y[:2] * 3),
    "mask": lambda t, y: y.__setitem__(y > 3, 0.0), "mask_add": lambda t, y: masked_add(y, t.tensor([True, False, True, False])),
    "view": lambda t, y: done(y[1:3].mul_(5)),
    "view_of_view": lambda t, y: done(y.view(2, 2)[1][:1].exp_()), "reshape": lambda t, y: y.unsqueeze_(0).t_().squeeze_(),
    "masked_fill": lambda t, y: y.masked_fill_(y > 3, 1.0), "index_fill": lambda t, y: y.index_fill_(0, t.tensor([0, 2]), 9.0),
    "index_put": lambda t, y: y.index_put_((t.tensor([0, 0]),), y[:2] * 2, accumulate=True), "cumsum": lambda t, y: y.cumsum_(0),
    "scatter_add": lambda t, y: y.scatter_add_(0, t.tensor([1, 1, 0, 0]), y * 1), "addcmul": lambda t, y: y.addcmul_(y, y),
    "lerp": lambda t, y: y.lerp_(t.ones(4), 0.3), "detach": lambda t, y: y.detach_(), "resize": lambda t, y: y.resize_(2),
    "sigmoid": lambda t, y: y.sigmoid_(), "expanded": lambda t, y: y.expand(2, 4).add_(1), "unbind": lambda t, y: y.unbind()[0].add_(1),
    "split": lambda t, y: y.split(2)[0].add_(1), "set_data": lambda t, y: setattr(y, "data", t.zeros(4)), "detach_view": lambda t, y: y[:2].detach_(),
    "swap_halves": lambda t, y: done(y[:2].copy_(y[2:].clone())), "whole": lambda t, y: y.__setitem__(slice(None), y.flip(0)),
    "new_base": lambda t, y: t.zeros(4).copy_(y), "into_plain": lambda t, y: t.zeros(5).index_copy_(0, t.tensor([1, 2, 3, 4]), y),
    "wrong_shape": lambda t, y: y.add_(t.ones(3, 4)), "wrong_type": lambda t, y: t.ones(4, dtype=t.int64).add_(y),
}  # fmt: skip
for name, change in CHANGES.items():
    PROGRAMS[f"in_place_{name}"] = lambda t, change=change: changed(t, lambda y: change(t, y))


def on_leaf(torch, change):
    change(torch.ones(4, requires_grad=True))


programs(
    leaf_add=lambda t: on_leaf(t, lambda x: x.add_(1)),
    leaf_view=lambda t: on_leaf(t, lambda x: x[1:].add_(1)),
    leaf_item=lambda t: on_leaf(t, lambda x: x.__setitem__(0, 1)),
    leaf_expanded=lambda t: on_leaf(t, lambda x: x.expand(2, 4).add_(1)),
    leaf_data=lambda t: on_leaf(t, lambda x: x.data.add_(1)),
    leaf_zero=lambda t: on_leaf(t, lambda x: x.zero_()),
    leaf_transposed=lambda t: t.ones(2, 2, requires_grad=True).t_(),
    leaf_unbound=lambda t: on_leaf(t, lambda x: x.unbind()[0].add_(1)),
)


@program
def saved_and_changed(torch):
    x = leaf(torch, 2)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


@program
def leaf_saved_and_changed(torch):
    x = leaf(torch, 3)
    y = x * x
    with torch.no_grad():
        x.add_(1)
    y.sum().backward()


@program
def view_without_grad_changed(torch):
    y = leaf(torch, 4) * 1
    with torch.no_grad():
        v = y[1:]
    v.add_(leaf(torch, 3))


@program
def sibling_views(torch):
    x = leaf(torch, 4)
    y = x * 1
    v, u = y[1:3], y[2:]
    v.mul_(5)
    (u * 10).sum().backward()
    return x.grad, u, v, v._version, u._version


@program
def in_place_by_another_leaf(torch):
    x, w = leaf(torch, 2), leaf(torch, 2)
    y = x * 2
    y.mul_(w)
    y.div_(w + 1)
    y.sum().backward()
    return grads(x, w)


# --- modes --------------------------------------------------------------------------------------------------------


def inference(torch, use):
    with torch.inference_mode():
        tensor = torch.ones(2)
    return use(tensor)


programs(
    inference_saved=lambda t: inference(t, lambda i: leaf(t, 2) * i),
    inference_changed=lambda t: inference(t, lambda i: i.add_(1)),
    inference_leaf=lambda t: inference(t, lambda i: i.requires_grad_()),
    inference_added=lambda t: inference(t, lambda i: leaf(t, 2) + i),
    inference_clone=lambda t: inference(t, lambda i: (i.clone().is_inference(), i.is_inference(), i[:1].is_inference())),
    inference_version=lambda t: inference(t, lambda i: i._version),
)


# --- saved tensors ------------------------------------------------------------------------------------------------


def packed(torch, pack, unpack, run=lambda x: (x * x).exp()):
    x = leaf(torch, 3)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = run(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return first.detach(), torch.autograd.grad(first.sum(), x)


programs(
    saved_hooks=lambda t: packed(t, lambda s: s.detach().clone(), lambda p: p),
    saved_hooks_in_place=lambda t: packed(t, lambda s: s.add_(1), lambda p: p, lambda x: x.detach() * x),
    saved_hooks_of_another_type=lambda t: packed(t, lambda s: s, lambda p: 3),
)


@program
def mutation_allowed(torch):
    x = leaf(torch, 3)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = y * y
        y.mul_(3)
        z.sum().backward()
    return x.grad


@program
def anomaly(torch):
    x = torch.tensor([-1.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        x.sqrt().backward()


# --- Function -----------------------------------------------------------------------------------------------------


def function_of(torch, forward, backward=lambda ctx, g: g, jvp=None):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Own", (torch.autograd.Function,), members | ({"jvp": staticmethod(jvp)} if jvp else {})).apply


def answered(torch, answer):
    x, y = leaf(torch, 3), leaf(torch, 3)
    function_of(torch, lambda ctx, x, y, how: x * 2, lambda ctx, g: answer(g))(x, y, 5).sum().backward()
    return grads(x, y)


for name, answer in {
    "few": lambda g: (g,),
    "many": lambda g: (g, g, None, g),
    "trailing": lambda g: (g, g, None, None),
    "for_number": lambda g: (g, g, g),
    "number": lambda g: (g, 3, None),
    "shape": lambda g: (g.new_ones(5), g, None),
    "expandable": lambda g: (g.new_ones(2, 3), g, None),
    "scalar": lambda g: (g.sum(), g, None),
    "none": lambda g: None,
    "list": lambda g: [g, g, None],
    "double": lambda g: (g.double(), g, None),
}.items():
    PROGRAMS[f"function_backward_{name}"] = lambda t, answer=answer: answered(t, answer)


def dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def dirty_and_lost(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2).clone()


def apply_to_clone(torch, forward, after=lambda out, y: out):
    x = leaf(torch, 3)
    y = x.clone()
    out = after(function_of(torch, forward, lambda ctx, g: g * 3)(y), y)
    out.sum().backward()
    return out, x.grad, out is y, y._version


programs(
    function_same=lambda t: apply_to_clone(t, lambda ctx, x: x),
    function_same_changed=lambda t: apply_to_clone(t, lambda ctx, x: x, lambda out, y: out.add_(1)),
    function_view_changed=lambda t: apply_to_clone(t, lambda ctx, x: x.view(3, 1), lambda out, y: out.add_(1)),
    function_dirty=lambda t: apply_to_clone(t, dirty),
    function_dirty_leaf=lambda t: function_of(t, dirty)(leaf(t, 2)),
    function_dirty_lost=lambda t: apply_to_clone(t, dirty_and_lost),
    function_detached=lambda t: apply_to_clone(t, lambda ctx, x: x.detach(), lambda out, y: out.add_(0)),
    function_list=lambda t: function_of(t, lambda ctx, x: [x * 2])(leaf(t, 2)),
    function_of_numbers=lambda t: function_of(t, lambda ctx, x: (x * 2, 5, "text", x > 1))(leaf(t, 2)),
    function_save_number=lambda t: function_of(t, lambda ctx, x: ctx.save_for_backward(3))(leaf(t, 2)),
    function_without_forward=lambda t: type("Own", (t.autograd.Function,), {}).apply(leaf(t, 2)),
    function_without_backward=lambda t: (
        type("Own", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)}).apply(leaf(t, 2)).sum().backward()
    ),
)


@program
def once_differentiable(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * 2

    x, w = leaf(torch, 3), leaf(torch, 3)
    (g,) = torch.autograd.grad(Square.apply(x), x, w, create_graph=True)
    g.sum().backward()


# --- forward mode -------------------------------------------------------------------------------------------------


def dual(torch, run):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        made = run(fw.make_dual(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.5, -1.0])), fw)
        return [tuple(fw.unpack_dual(each)) for each in (made if isinstance(made, (tuple, list)) else [made])]


def dual_changed(change):
    def run(x, fw):
        y = x.clone()
        change(y, x)
        return y

    return run


for name, run in {
    "arithmetic": lambda x, fw: x * x + 2 / x,
    "reduction": lambda x, fw: [x.sum(), x.prod(), x.norm(), x.max(0)[0]],
    "views": lambda x, fw: [x[1:], x.view(3, 1), x.split(2)[0], x.expand(2, 3)],
    "double": lambda x, fw: x.double(),
    "whole": lambda x, fw: [x.long(), x > 1, x.argmax()],
    "detached": lambda x, fw: [x.detach(), x.data, x.clone()],
    "item": dual_changed(lambda y, x: y.__setitem__(0, 5)),
    "views_changed": dual_changed(lambda y, x: y[1:].mul_(x[:2])),
    "copied": dual_changed(lambda y, x: y.copy_(x * 2)),
    "shape": lambda x, fw: fw.make_dual(x * 1, x.new_ones(2)),
    "twice": lambda x, fw: fw.make_dual(x, x.detach()),
    "of_dual": lambda x, fw: fw.make_dual(x.detach(), x),
    "nested": lambda x, fw: fw.enter_dual_level(),
    "integers": lambda x, fw: fw.make_dual(x.detach().long(), x.detach()),
    "softmax": lambda x, fw: x.softmax(0),
    "sorted": lambda x, fw: x.sort(0)[0],
}.items():
    PROGRAMS[f"dual_{name}"] = lambda t, run=run: dual(t, run)

programs(
    dual_function=lambda t: dual(t, lambda x, fw: function_of(t, lambda ctx, x: x * 2, jvp=lambda ctx, v: v * 3)(x)),
    dual_function_without=lambda t: dual(t, lambda x, fw: function_of(t, lambda ctx, x: x * 2)(x)),
    dual_function_shape=lambda t: dual(
        t, lambda x, fw: function_of(t, lambda ctx, x: x * 2, jvp=lambda ctx, v: v.new_ones(7))(x)
    ),
    dual_outside=lambda t: t.autograd.forward_ad.make_dual(t.ones(2), t.ones(2)),
    dual_exit=lambda t: t.autograd.forward_ad.exit_dual_level(),
)


# --- functional ---------------------------------------------------------------------------------------------------


def functional(name, *given, **options):
    def run(torch):
        x, y = torch.arange(4.0).reshape(2, 2) + 1, torch.tensor([1.0, 2.0])
        inputs, weights = {
            "one": (x, torch.ones(2)),
            "two": ((x, y), (torch.ones(2, 2), torch.tensor(2.0))),
            "scalar": ((x, y), (torch.ones(2, 2), torch.ones(2))),
            "constant": (x, torch.ones(2)),
            "linear": (x, torch.ones(2, 2)),
        }[given[0]]
        function = {
            "one": lambda x: (x**2).sum(1),
            "two": lambda x, y: (x * y, y.sum()),
            "scalar": lambda x, y: (x * y).sum() * y.sum(),
            "constant": lambda x: torch.ones(2),
            "linear": lambda x: x.sum(),
        }[given[0]]
        if name in ("jacobian", "hessian"):
            return getattr(torch.autograd.functional, name)(function, inputs, **options)
        if name == "jvp":
            weights = tuple(torch.ones_like(each) for each in inputs) if isinstance(inputs, tuple) else torch.ones_like(inputs)
        return getattr(torch.autograd.functional, name)(function, inputs, weights, **options)

    return run


for options in ({}, {"create_graph": True}, {"strict": True}):
    told = "_".join(options)
    for name in ("vjp", "jvp", "jacobian"):
        for given in ("one", "two", "constant"):
            PROGRAMS[f"{name}_{given}_{told}"] = functional(name, given, **options)
    for name in ("hvp", "vhp", "hessian"):
        for given in ("scalar", "linear", "one"):
            PROGRAMS[f"{name}_{given}_{told}"] = functional(name, given, **options)
for given in ("one", "two"):
    PROGRAMS[f"jacobian_{given}_vectorized"] = functional("jacobian", given, vectorize=True)
    PROGRAMS[f"jacobian_{given}_forward"] = functional("jacobian", given, strategy="forward-mode", vectorize=True)
    PROGRAMS[f"jacobian_{given}_forward_loop"] = functional("jacobian", given, strategy="forward-mode")
    PROGRAMS[f"jacobian_{given}_strict_vectorized"] = functional("jacobian", given, strict=True, vectorize=True)
PROGRAMS["hessian_vectorized"] = functional("hessian", "scalar", vectorize=True)
PROGRAMS["hessian_forward"] = functional("hessian", "scalar", vectorize=True, outer_jacobian_strategy="forward-mode")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    got, wanted = (outcome(PROGRAMS[name], torch) for torch in (ours, theirs))
    assert got == wanted
