"""CUDA graphs: work that is captured once and then replayed with a single launch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

from .. import autograd
from ..engine.devices import cuda as runtime
from ..engine.devices.cuda_capabilities import RawGraph
from ..engine.tensors.tensor import Tensor
from . import streams

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

_next_pool = itertools.count(1).__next__
_pools: dict[Any, Any] = {}  # memory pools by handle; several graphs can share one


def is_current_stream_capturing() -> bool:
    """Whether the current stream is being captured into a graph."""
    return runtime.is_available() and runtime.init().is_capturing()


def graph_pool_handle() -> tuple[int, int]:
    """Return the handle of a new memory pool that graphs can share."""
    return 0, _next_pool()


class CUDAGraph:
    """Work captured from a stream, which `replay` runs again on the same memory.  See `graph` for capturing."""

    def __init__(self, keep_graph: bool = False) -> None:
        if not runtime.is_available():
            raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")
        self._raw: RawGraph | None = None
        self._handle: Any = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Start capturing the current stream, which must not be the default stream."""
        self._handle = getattr(pool, "id", pool) or graph_pool_handle()
        cuda = runtime.init()
        if self._handle not in _pools:
            _pools[self._handle] = getattr(pool, "raw", None) or cuda.create_pool()
        # A graph requires memory that nothing else uses, because every replay writes to it.
        self._pool = _pools[self._handle]
        self._using = cuda.using_pool(self._pool)
        self._using.__enter__()
        cuda.begin_capture(capture_error_mode)

    def capture_end(self) -> None:
        """Stop capturing."""
        try:
            self._raw = runtime.init().end_capture()
        finally:
            self._using.__exit__(None, None, None)

    def replay(self) -> None:
        """Run the captured work on the current stream."""
        if self._raw is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._raw.launch(runtime.init().current_stream(runtime.current_device()))

    def reset(self) -> None:
        """Delete the captured work and release its memory."""
        self._raw = self._pool = None
        _pools.pop(self._handle, None)

    def pool(self) -> Any:
        """Return the handle of the graph's memory pool, which other graphs can share."""
        return self._handle


class graph:
    """Context that captures work on CUDA devices instead of running it::

        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            y = x * 2
        x.fill_(3); g.replay()  # y is 6 now

    Args:
        cuda_graph: the graph to capture into.
        pool: the memory pool to use, from `graph_pool_handle()` or another graph's `pool()`.
        stream: the stream to capture; by default one stream shared by all captures.
        capture_error_mode: which unsafe calls raise during capture: `"global"`, `"thread_local"` or `"relaxed"`.
        enable_annotations: no effect.
        check_input_liveness: no effect.
    """

    cuda_graph: CUDAGraph
    pool: Any
    capture_error_mode: str

    default_capture_stream: streams.Stream | None = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: streams.Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = streams.Stream()
        self.stream_ctx: Final = streams.stream(stream or graph.default_capture_stream)
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode

    def __enter__(self) -> None:
        runtime.synchronize()
        self.stream_ctx.__enter__()
        self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)

    def __exit__(self, error_type: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cuda_graph.capture_end()
        self.stream_ctx.__exit__(error_type, error, trace)


# --- graphed callables --------------------------------------------------------------------------------------------


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """Capture the forward and backward of callables (modules or functions of tensors) as CUDA graphs.

    Returns callables that replay the graphs; a module is returned itself, with its `forward` replaced.

    Args:
        callables: a module or function, or a tuple of them.
        sample_args: the arguments to capture each callable with; later arguments must have the same shapes.
        num_warmup_iters: the number of calls of each callable before it is captured.
        allow_unused_input: whether the outputs may be independent of an argument that requires grad.
        pool: the memory pool to use.
    """
    if not isinstance(callables, tuple):
        return make_graphed_callables((callables,), (sample_args,), num_warmup_iters, allow_unused_input, pool)[0]
    pool = graph_pool_handle() if pool is None else pool
    graphed = [
        _Graphed(callable_, args, num_warmup_iters, allow_unused_input, pool)
        for callable_, args in zip(callables, sample_args, strict=True)
    ]
    return tuple(callable_.replacement() for callable_ in graphed)


class _Graphed:
    """A callable with the captured graphs of its forward and backward, and their static input and output tensors."""

    def __init__(self, function: Any, args: Sequence[Tensor], warmups: int, allow_unused: bool, pool: Any) -> None:
        self.function, self.inputs, self.allow_unused = function, tuple(args), allow_unused
        self.parameters = tuple(function.parameters()) if hasattr(function, "parameters") else ()
        self.differentiable = tuple(tensor for tensor in self.inputs + self.parameters if tensor.requires_grad)
        self._warm_up(warmups)
        self.forward_graph, self.backward_graph = CUDAGraph(), CUDAGraph()
        with graph(self.forward_graph, pool):
            outputs = function(*self.inputs)
        self.is_single = isinstance(outputs, Tensor)
        self.outputs = (outputs,) if self.is_single else tuple(outputs)
        self.tracked = tuple(output for output in self.outputs if output.requires_grad)
        self.gradients = tuple(output.detach().clone() for output in self.tracked)
        self.results: Sequence[Tensor | None] = ()
        if self.tracked:
            with graph(self.backward_graph, pool):
                self.results = self._gradients(self.tracked)

    def _gradients(self, outputs: Sequence[Tensor]) -> Sequence[Tensor | None]:
        return autograd.grad(outputs, self.differentiable, self.gradients, allow_unused=self.allow_unused)

    def _warm_up(self, times: int) -> None:
        with streams.stream(streams.Stream()):
            for _ in range(times):
                outputs = self.function(*self.inputs)
                tracked = [output for output in ((outputs,) if isinstance(outputs, Tensor) else outputs) if output.requires_grad]
                if tracked:
                    ones = [output.detach().clone() for output in tracked]
                    autograd.grad(tracked, self.differentiable, ones, allow_unused=self.allow_unused)
        runtime.synchronize()

    def replay(self, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for static, arg in zip(self.inputs, args, strict=True):
            if static.data_ptr() != arg.data_ptr():
                static.detach().copy_(arg)
        self.forward_graph.replay()
        return tuple(output.detach() for output in self.outputs)

    def replay_backward(self, gradients: Sequence[Tensor]) -> list[Tensor | None]:
        for static, gradient in zip(self.gradients, gradients, strict=True):
            static.copy_(gradient)
        self.backward_graph.replay()
        results = iter(self.results)
        return [next(results) if input.requires_grad else None for input in self.inputs + self.parameters]

    def replacement(self) -> Any:
        """Return the module with its `forward` replaced, or a function that replays the graphs."""
        run = self._function()
        if hasattr(self.function, "forward"):
            self.function.forward = run
            return self.function
        return run

    def _function(self) -> Callable[..., Any]:
        graphed = self

        class Replayed(autograd.Function):
            @staticmethod
            def forward(ctx: Any, *args: Tensor) -> Any:
                return graphed.replay(args[: len(graphed.inputs)])

            @staticmethod
            def backward(ctx: Any, *gradients: Tensor) -> Any:
                tracked = [g for g, output in zip(gradients, graphed.outputs, strict=True) if output.requires_grad]
                return tuple(graphed.replay_backward(tracked))

        def run(*args: Tensor) -> Any:
            outputs = Replayed.apply(*args, *graphed.parameters)
            return outputs[0] if graphed.is_single else outputs

        return run
