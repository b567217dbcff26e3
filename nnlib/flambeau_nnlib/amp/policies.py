"""Which precision an operation gets in an autocast region: tables of operation names."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["FAST", "FLOAT32", "POLICIES", "UNSAFE", "WHOLE", "WIDEST", "operation_name"]

FAST = "fast"  # cast to the region's dtype: matrix products and convolutions, which gain the most speed
FLOAT32 = "float32"  # cast to float32: operations that overflow or lose accuracy in half precision
WIDEST = "widest"  # cast all arguments to the widest dtype among them
WHOLE = "whole"  # no cast, also none inside it: a composite here that in PyTorch is one operation without a policy
UNSAFE = "unsafe"  # raise an error


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRODUCTS = _names("""
    addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d linalg_multi_dot linalg_vecdot linear matmul mm multi_head_attention_forward prelu
    scaled_dot_product_attention
""")

_LOSSES = _names("""
    binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss
    kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss
    poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
""")

_CPU_FLOAT32 = _LOSSES | _names("""
    adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool3d
    binary_cross_entropy cdist cholesky cholesky_inverse cholesky_solve ctc_loss fft_fft fft_fft2
    fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft
    fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices
    fractional_max_pool3d_with_indices geqrf grid_sample grid_sampler inverse linalg_cholesky
    linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
    linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr
    linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve local_response_norm
    lp_pool3d lu lu_solve max_pool3d max_unpool1d max_unpool2d max_unpool3d nanquantile orgqr ormqr
    pinverse polar prod qr quantile stft svd trace triangular_solve view_as_complex
""")

_CUDA_FLOAT32 = _LOSSES | _names("""
    acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm interpolate
    layer_norm linalg_matrix_norm linalg_norm linalg_vector_norm log log10 log1p log2 log_softmax logsumexp
    norm pdist pow prod reciprocal renorm rsqrt sinh softmax softmin softplus sum tan upsample
""")


_WHOLE = _names("""
    adaptive_avg_pool1d adaptive_avg_pool2d block_diag embedding_bag index_reduce linalg_lu_solve scatter_reduce
""")


def _table(**policies: frozenset[str]) -> dict[str, str]:
    return {name: policy for policy, names in policies.items() for name in names}


POLICIES: dict[str, dict[str, str]] = {
    "cpu": _table(
        fast=_PRODUCTS | _names("elman_layer lstm_layer"),
        float32=_CPU_FLOAT32,
        widest=_names("cat concat concatenate index_copy stack"),
        whole=_WHOLE | _names("addmv addr bilinear dot interpolate max_pool3d_with_indices mv upsample vdot"),
    ),
    "cuda": _table(
        fast=_PRODUCTS
        | _names("""
            einsum addmv addr elman_layer gru gru_cell gru_layer lstm_cell lstm_layer mv rnn_relu rnn_relu_cell rnn_tanh
            rnn_tanh_cell
        """),
        float32=_CUDA_FLOAT32,
        widest=_names("""
            addcdiv addcmul atan2 bilinear cat concat concatenate cross dot grid_sample grid_sampler index_put
            scatter_add stack tensordot vdot
        """),
        whole=_WHOLE,
        unsafe=_names("binary_cross_entropy"),
    ),
}

_OPERATORS = {"rmatmul": "matmul", "rpow": "pow"}


def operation_name(function: Callable[..., object]) -> str:
    """The name of `function`, which may be a function, a method or an operator, in the tables."""
    name = getattr(function, "__name__", "")
    if name.startswith("__"):
        name = name.strip("_")
        return _OPERATORS.get(name, name)
    modules = (getattr(function, "__module__", None) or "").split(".")
    for family in ("fft", "linalg"):
        if family in modules and not name.startswith(family + "_"):
            return f"{family}_{name}"
    return name
