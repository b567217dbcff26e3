"""grad-cam: class activation maps of a convolutional network, by several methods."""

import warnings

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from pytorch_grad_cam import AblationCAM, EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, ScoreCAM, XGradCAM  # noqa: E402
from pytorch_grad_cam.guided_backprop import GuidedBackpropReLUModel  # noqa: E402
from pytorch_grad_cam.metrics.road import ROADMostRelevantFirst  # noqa: E402
from pytorch_grad_cam.utils.image import preprocess_image, show_cam_on_image  # noqa: E402
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget  # noqa: E402

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
    torch.nn.Linear(8, 5),
).eval()  # fmt: skip
picture = np.random.default_rng(0).random((16, 16, 3)).astype("float32")
x, targets = preprocess_image(picture), [ClassifierOutputTarget(2)]
for method in (GradCAM, GradCAMPlusPlus, HiResCAM, XGradCAM, LayerCAM, EigenCAM, ScoreCAM, AblationCAM):
    with method(model=net, target_layers=[net[3]]) as cam:
        found = cam(input_tensor=x, targets=targets)
    print(method.__name__, found.shape, f"{found.mean():.4f} {found[0, 3, 5]:.4f}")
print(show_cam_on_image(picture, found[0], use_rgb=True).shape)
with GradCAM(model=net, target_layers=[net[3], net[0]]) as cam:
    print(f"{cam(input_tensor=x, targets=None, aug_smooth=True, eigen_smooth=True).mean():.4f}")
print(f"{np.abs(GuidedBackpropReLUModel(model=net, device='cpu')(x, target_category=1)).mean():.5f}")
with torch.no_grad():
    print(ROADMostRelevantFirst(percentile=75)(x, found, targets, net).round(4))
