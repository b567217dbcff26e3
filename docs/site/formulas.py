"""Typeset formulas of functions and layers: LaTeX by name, converted to MathML, which browsers render without scripts."""

from __future__ import annotations

_ACTIVATIONS = {
    "relu": r"\operatorname{relu}(x) = \max(0, x)",
    "sigmoid": r"\sigma(x) = \frac{1}{1 + e^{-x}}",
    "tanh": r"\tanh(x) = \frac{e^{x} - e^{-x}}{e^{x} + e^{-x}}",
    "silu": r"\operatorname{silu}(x) = x\,\sigma(x)",
    "gelu": r"\operatorname{gelu}(x) = x\,\Phi(x), \quad "
    r"\Phi(x) = \frac{1}{2}\left(1 + \operatorname{erf}\frac{x}{\sqrt{2}}\right)",
    "softplus": r"\operatorname{softplus}(x) = \frac{1}{\beta} \log\left(1 + e^{\beta x}\right)",
    "elu": r"\operatorname{elu}(x) = \max(0, x) + \min\left(0, \alpha (e^{x} - 1)\right)",
    "selu": r"\operatorname{selu}(x) = s \left(\max(0, x) + \min\left(0, \alpha (e^{x} - 1)\right)\right)",
    "celu": r"\operatorname{celu}(x) = \max(0, x) + \min\left(0, \alpha (e^{x / \alpha} - 1)\right)",
    "leaky_relu": r"\operatorname{leaky\_relu}(x) = \max(0, x) + a \min(0, x)",
    "prelu": r"\operatorname{prelu}(x) = \max(0, x) + a \min(0, x)",
    "hardtanh": r"\operatorname{hardtanh}(x) = \min(\max(x, \mathit{min\_val}), \mathit{max\_val})",
    "hardsigmoid": r"\operatorname{hardsigmoid}(x) = \frac{\min(\max(x + 3, 0), 6)}{6}",
    "hardswish": r"\operatorname{hardswish}(x) = x\,\frac{\min(\max(x + 3, 0), 6)}{6}",
    "relu6": r"\operatorname{relu6}(x) = \min(\max(0, x), 6)",
    "mish": r"\operatorname{mish}(x) = x \tanh\left(\log(1 + e^{x})\right)",
    "softsign": r"\operatorname{softsign}(x) = \frac{x}{1 + |x|}",
    "tanhshrink": r"\operatorname{tanhshrink}(x) = x - \tanh(x)",
    "logsigmoid": r"\log \sigma(x) = -\log\left(1 + e^{-x}\right)",
    "glu": r"\operatorname{glu}(a, b) = a \odot \sigma(b)",
    "softmax": r"\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}",
    "log_softmax": r"\operatorname{log\_softmax}(x)_i = x_i - \log \sum_j e^{x_j}",
    "softmin": r"\operatorname{softmin}(x)_i = \frac{e^{-x_i}}{\sum_j e^{-x_j}}",
}
_LOSSES = {
    "mse_loss": r"\ell = \frac{1}{N} \sum_{n} (x_n - y_n)^2",
    "l1_loss": r"\ell = \frac{1}{N} \sum_{n} |x_n - y_n|",
    "smooth_l1_loss": r"\ell_n = \begin{cases} (x_n - y_n)^2 / (2 \beta) & |x_n - y_n| < \beta \\ "
    r"|x_n - y_n| - \beta / 2 & \text{otherwise} \end{cases}",
    "huber_loss": r"\ell_n = \begin{cases} (x_n - y_n)^2 / 2 & |x_n - y_n| < \delta \\ "
    r"\delta \left(|x_n - y_n| - \delta / 2\right) & \text{otherwise} \end{cases}",
    "cross_entropy": r"\ell = -\frac{1}{N} \sum_{n} \log \frac{e^{x_{n, y_n}}}{\sum_{c} e^{x_{n, c}}}",
    "nll_loss": r"\ell = -\frac{\sum_n w_{y_n} x_{n, y_n}}{\sum_n w_{y_n}}",
    "binary_cross_entropy": r"\ell = -\frac{1}{N} \sum_n \left(y_n \log x_n + (1 - y_n) \log(1 - x_n)\right)",
    "binary_cross_entropy_with_logits": r"\ell = -\frac{1}{N} \sum_n \left(y_n \log \sigma(x_n) + "
    r"(1 - y_n) \log(1 - \sigma(x_n))\right)",
    "kl_div": r"\ell = \frac{1}{N} \sum_n y_n (\log y_n - x_n)",
    "hinge_embedding_loss": r"\ell_n = \begin{cases} x_n & y_n = 1 \\ \max(0, m - x_n) & y_n = -1 \end{cases}",
    "margin_ranking_loss": r"\ell_n = \max\left(0, -y_n (a_n - b_n) + m\right)",
    "triplet_margin_loss": r"\ell = \max\left(\lVert a - p \rVert_p - \lVert a - n \rVert_p + m, 0\right)",
    "cosine_embedding_loss": r"\ell = \begin{cases} 1 - \cos(a, b) & y = 1 \\ \max(0, \cos(a, b) - m) & y = -1 \end{cases}",
    "soft_margin_loss": r"\ell = \frac{1}{N} \sum_n \log\left(1 + e^{-y_n x_n}\right)",
    "poisson_nll_loss": r"\ell = \frac{1}{N} \sum_n \left(e^{x_n} - y_n x_n\right)",
    "gaussian_nll_loss": r"\ell = \frac{1}{2 N} \sum_n \left(\log v_n + \frac{(x_n - y_n)^2}{v_n}\right)",
}
_LAYERS = {
    "linear": r"y = x W^{\top} + b",
    "bilinear": r"y_k = a^{\top} W_k b + b_k",
    "batch_norm": r"y = \frac{x - \operatorname{E}[x]}{\sqrt{\operatorname{Var}[x] + \epsilon}}\,\gamma + \beta",
    "layer_norm": r"y = \frac{x - \operatorname{E}[x]}{\sqrt{\operatorname{Var}[x] + \epsilon}}\,\gamma + \beta",
    "group_norm": r"y = \frac{x - \operatorname{E}[x]}{\sqrt{\operatorname{Var}[x] + \epsilon}}\,\gamma + \beta",
    "instance_norm": r"y = \frac{x - \operatorname{E}[x]}{\sqrt{\operatorname{Var}[x] + \epsilon}}\,\gamma + \beta",
    "rms_norm": r"y = \frac{x}{\sqrt{\frac{1}{n} \sum_i x_i^2 + \epsilon}}\,\gamma",
    "normalize": r"y = \frac{x}{\max(\lVert x \rVert_p, \epsilon)}",
    "conv1d": r"y_{o, i} = b_o + \sum_{c} \sum_{k} w_{o, c, k}\, x_{c, s i + k}",
    "conv2d": r"y_{o, i, j} = b_o + \sum_{c} \sum_{k, l} w_{o, c, k, l}\, x_{c, s i + k, s j + l}",
    "scaled_dot_product_attention": r"\operatorname{softmax}\left(\frac{Q K^{\top}}{\sqrt{E}} + M\right) V",
    "cosine_similarity": r"\cos(a, b) = \frac{a \cdot b}{\max(\lVert a \rVert_2, \epsilon) \max(\lVert b \rVert_2, \epsilon)}",
    "pairwise_distance": r"\lVert a - b + \epsilon \rVert_p",
}
_TORCH = {
    "exp": r"y = e^{x}",
    "log": r"y = \log_e x",
    "sqrt": r"y = \sqrt{x}",
    "rsqrt": r"y = \frac{1}{\sqrt{x}}",
    "logit": r"y = \log \frac{x}{1 - x}",
    "logsumexp": r"y = \log \sum_i e^{x_i}",
    "logaddexp": r"z = \log(e^{x} + e^{y})",
    "erf": r"\operatorname{erf}(x) = \frac{2}{\sqrt{\pi}} \int_0^{x} e^{-t^2}\,dt",
    "erfc": r"\operatorname{erfc}(x) = \frac{2}{\sqrt{\pi}} \int_x^{\infty} e^{-t^2}\,dt",
    "lgamma": r"\log |\Gamma(x)|, \quad \Gamma(x) = \int_0^{\infty} t^{x - 1} e^{-t}\,dt",
    "digamma": r"\psi(x) = \frac{d}{dx} \log \Gamma(x)",
    "polygamma": r"\psi^{(n)}(x) = \frac{d^{n + 1}}{dx^{n + 1}} \log \Gamma(x)",
    "igamma": r"P(a, x) = \frac{1}{\Gamma(a)} \int_0^{x} t^{a - 1} e^{-t}\,dt",
    "sinc": r"\operatorname{sinc}(x) = \frac{\sin(\pi x)}{\pi x}",
    "hypot": r"z = \sqrt{x^2 + y^2}",
    "mean": r"\bar{x} = \frac{1}{N} \sum_i x_i",
    "var": r"\frac{1}{\max(0, N - c)} \sum_i (x_i - \bar{x})^2 \quad \text{with } c = \mathit{correction}",
    "std": r"\sqrt{\frac{1}{\max(0, N - c)} \sum_i (x_i - \bar{x})^2} \quad \text{with } c = \mathit{correction}",
    "norm": r"\lVert x \rVert_p = \left(\sum_i |x_i|^p\right)^{1 / p}",
    "matmul": r"C_{i j} = \sum_k A_{i k} B_{k j}",
    "addmm": r"C = \beta\,M + \alpha\,A B",
    "lerp": r"z = x + w (y - x)",
    "addcmul": r"y = x + v\,a \odot b",
    "addcdiv": r"y = x + v\,\frac{a}{b}",
    "cdist": r"d_{i j} = \lVert a_i - b_j \rVert_p",
    "matrix_exp": r"e^{A} = \sum_{k=0}^{\infty} \frac{A^k}{k!}",
    "special.entr": r"y = -x \log x",
    "special.ndtr": r"\Phi(x) = \frac{1}{\sqrt{2 \pi}} \int_{-\infty}^{x} e^{-t^2 / 2}\,dt",
    "special.zeta": r"\zeta(x, q) = \sum_{k=0}^{\infty} \frac{1}{(k + q)^x}",
    "fft.fft": r"X_k = \sum_{n=0}^{N-1} x_n\, e^{-2 \pi i k n / N}",
    "fft.ifft": r"x_n = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2 \pi i k n / N}",
    "linalg.svd": r"A = U \operatorname{diag}(S) V^{H}",
    "linalg.eigh": r"A = Q \operatorname{diag}(L) Q^{H}",
    "linalg.qr": r"A = Q R",
    "linalg.cholesky": r"A = L L^{H}",
    "linalg.solve": r"A X = B",
    "optim.SGD": r"v \leftarrow \mu v + (1 - \tau)\,g, \quad \theta \leftarrow \theta - \gamma\,v",
    "optim.Adam": r"m \leftarrow \beta_1 m + (1 - \beta_1)\,g, \quad v \leftarrow \beta_2 v + (1 - \beta_2)\,g^2, \quad "
    r"\theta \leftarrow \theta - \gamma\,\frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}",
    "optim.AdamW": r"\theta \leftarrow (1 - \gamma \lambda)\,\theta - "
    r"\gamma\,\frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}",
    "optim.RMSprop": r"v \leftarrow \alpha v + (1 - \alpha)\,g^2, \quad "
    r"\theta \leftarrow \theta - \gamma\,\frac{g}{\sqrt{v} + \epsilon}",
    "optim.Adagrad": r"s \leftarrow s + g^2, \quad \theta \leftarrow \theta - \gamma\,\frac{g}{\sqrt{s} + \epsilon}",
}  # fmt: skip
# Layers that apply a function of `nn.functional`.
_CLASSES = {
    "ReLU": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "SiLU": "silu", "GELU": "gelu", "Softplus": "softplus", "ELU": "elu",
    "SELU": "selu", "CELU": "celu", "LeakyReLU": "leaky_relu", "PReLU": "prelu", "Hardtanh": "hardtanh", "ReLU6": "relu6",
    "Hardsigmoid": "hardsigmoid", "Hardswish": "hardswish", "Mish": "mish", "Softsign": "softsign", "Tanhshrink": "tanhshrink",
    "LogSigmoid": "logsigmoid", "GLU": "glu", "Softmax": "softmax", "LogSoftmax": "log_softmax", "Softmin": "softmin",
    "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss",
    "CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss", "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits", "KLDivLoss": "kl_div",
    "HingeEmbeddingLoss": "hinge_embedding_loss", "MarginRankingLoss": "margin_ranking_loss",
    "TripletMarginLoss": "triplet_margin_loss", "CosineEmbeddingLoss": "cosine_embedding_loss",
    "SoftMarginLoss": "soft_margin_loss", "PoissonNLLLoss": "poisson_nll_loss", "GaussianNLLLoss": "gaussian_nll_loss",
    "Linear": "linear", "Bilinear": "bilinear", "BatchNorm1d": "batch_norm", "BatchNorm2d": "batch_norm",
    "BatchNorm3d": "batch_norm", "LayerNorm": "layer_norm", "GroupNorm": "group_norm", "InstanceNorm1d": "instance_norm",
    "InstanceNorm2d": "instance_norm", "InstanceNorm3d": "instance_norm", "RMSNorm": "rms_norm", "Conv1d": "conv1d",
    "Conv2d": "conv2d", "CosineSimilarity": "cosine_similarity", "PairwiseDistance": "pairwise_distance",
}  # fmt: skip

_FUNCTIONS = {**_ACTIVATIONS, **_LOSSES, **_LAYERS}
# LaTeX by name, as programs write it after `torch.`
FORMULAS = {
    **_FUNCTIONS,
    **_TORCH,
    **{f"nn.functional.{name}": latex for name, latex in _FUNCTIONS.items()},
    **{f"nn.{name}": _FUNCTIONS[function] for name, function in _CLASSES.items()},
}


def formula(name: str) -> str:
    """Return the formula of a name as MathML, or an empty string."""
    from latex2mathml.converter import convert

    latex = FORMULAS.get(name)
    return f'<div class="formula">{convert(latex, display="block")}</div>' if latex else ""
