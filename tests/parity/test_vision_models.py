"""Models compared with torchvision: same names, state dict keys and shapes, and same results for the same weights."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch as pytorch

import flambeau

torchvision_models = pytest.importorskip("torchvision.models")
import torchvision.models.feature_extraction as theirs_of  # noqa: E402

import flambeau_vision.models.feature_extraction as ours_of  # noqa: E402
from flambeau_vision import models  # noqa: E402


def options(name: str) -> dict:
    """Return arguments that create a model without downloading weights."""
    builder = torchvision_models.get_model_builder(name)
    kwargs = {"weights": None}
    if "weights_backbone" in inspect.signature(builder).parameters:
        kwargs["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        kwargs["init_weights"] = False
    return kwargs


def test_names():
    assert models.list_models() == torchvision_models.list_models()


@pytest.mark.parametrize("name", torchvision_models.list_models())
def test_keys_and_shapes(name, monkeypatch):
    """State dicts have the same keys and shapes. Models are built on meta, because the largest have gigabytes of weights."""
    plan = torchvision_models.regnet.BlockParams.from_init_params.__func__

    def planned_on_the_cpu(cls, **kwargs):  # not on meta: it reads values of tensors
        with pytorch.device("cpu"):
            return plan(cls, **kwargs)

    monkeypatch.setattr(torchvision_models.regnet.BlockParams, "from_init_params", classmethod(planned_on_the_cpu))
    with pytorch.device("meta"):
        theirs = torchvision_models.get_model(name, **options(name)).state_dict()
    with flambeau.device("meta"):
        ours = models.get_model(name, **options(name)).state_dict()
    assert [(key, tuple(value.shape), str(value.dtype)) for key, value in ours.items()] == [
        (key, tuple(value.shape), str(value.dtype)) for key, value in theirs.items()
    ]
    weights = torchvision_models.get_model_weights(name)
    assert {member.name for member in models.get_model_weights(name)} == {member.name for member in weights}
    for member in weights:
        meta = models.get_model_weights(name)[member.name].meta
        assert meta["num_params"] == member.meta["num_params"]
        if meta["categories"] is not None:
            assert list(meta["categories"]) == list(member.meta["categories"])


IMAGES, VIDEO = (2, 3, 64, 64), (1, 3, 8, 64, 64)
NUMBERS = {
    "alexnet": IMAGES, "convnext_tiny": IMAGES, "densenet121": IMAGES, "efficientnet_b0": IMAGES,
    "efficientnet_v2_s": IMAGES, "googlenet": IMAGES, "inception_v3": (2, 3, 96, 96), "maxvit_t": (1, 3, 224, 224),
    "mnasnet0_5": IMAGES, "mobilenet_v2": IMAGES, "mobilenet_v3_small": IMAGES, "regnet_x_400mf": IMAGES,
    "regnet_y_400mf": IMAGES, "resnet18": IMAGES, "resnext50_32x4d": IMAGES, "shufflenet_v2_x0_5": IMAGES,
    "squeezenet1_1": IMAGES, "swin_t": IMAGES, "swin_v2_t": IMAGES, "vgg11_bn": IMAGES, "vit_b_32": (1, 3, 224, 224),
    "fcn_resnet50": IMAGES, "deeplabv3_mobilenet_v3_large": IMAGES, "lraspp_mobilenet_v3_large": IMAGES,
    "r3d_18": VIDEO, "s3d": (1, 3, 16, 224, 224), "swin3d_t": VIDEO, "mvit_v1_b": (1, 3, 16, 224, 224),
    "mvit_v2_s": (1, 3, 16, 224, 224),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    theirs = torchvision_models.get_model(name, **options(name)).eval()
    ours = models.get_model(name, **options(name)).eval()
    ours.load_state_dict({key: flambeau.from_numpy(value.numpy().copy()) for key, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).random(NUMBERS[name], dtype=np.float32)
    with pytorch.no_grad(), flambeau.no_grad():
        expected, result = theirs(pytorch.from_numpy(x)), ours(flambeau.from_numpy(x))
    if isinstance(expected, dict):
        expected, result = expected["out"], result["out"]
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


DETECTORS = [
    "fasterrcnn_mobilenet_v3_large_320_fpn", "fcos_resnet50_fpn", "keypointrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_losses_of_detectors(name):
    """Training losses of detectors agree. Sampling limits are large, so that no random subset is drawn."""
    kwargs = options(name) | {"num_classes": 2 if "keypoint" in name else 5}
    if "rcnn" in name:
        kwargs |= {"box_batch_size_per_image": 100_000, "rpn_batch_size_per_image": 1_000_000, "min_size": 96, "max_size": 128}
    if name in ("fcos_resnet50_fpn", "retinanet_resnet50_fpn"):
        kwargs |= {"min_size": 96, "max_size": 128}
    theirs = torchvision_models.get_model(name, **kwargs).train()
    ours = models.get_model(name, **kwargs).train()
    ours.load_state_dict({key: flambeau.from_numpy(value.numpy().copy()) for key, value in theirs.state_dict().items()})
    for model, torch in ((theirs, pytorch), (ours, flambeau)):
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d | torch.nn.Dropout):
                module.eval()
    rng = np.random.default_rng(0)
    x = rng.random((3, 90, 120), dtype=np.float32)
    target = {
        "boxes": np.array([[10, 12, 60, 70], [50, 20, 110, 80]], np.float32),
        "labels": np.array([1, 1]),
        "masks": rng.integers(0, 2, (2, 90, 120), dtype=np.uint8),
        "keypoints": np.concatenate([rng.random((2, 17, 2)) * 50 + 15, np.ones((2, 17, 1))], 2).astype(np.float32),
    }
    losses = [
        model([torch.from_numpy(x)], [{key: torch.from_numpy(value) for key, value in target.items()}])
        for model, torch in ((ours, flambeau), (theirs, pytorch))
    ]
    assert losses[0].keys() == losses[1].keys()
    for key in losses[1]:
        np.testing.assert_allclose(losses[0][key].item(), losses[1][key].item(), rtol=2e-3, atol=1e-4, err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raft_large", "raft_small"])
def test_optical_flow(name):
    theirs, ours = torchvision_models.get_model(name).eval(), models.get_model(name).eval()
    ours.load_state_dict({key: flambeau.from_numpy(value.numpy().copy()) for key, value in theirs.state_dict().items()})
    pictures = np.random.default_rng(0).random((2, 1, 3, 128, 136), dtype=np.float32) * 2 - 1
    with pytorch.no_grad(), flambeau.no_grad():
        expected = theirs(*pytorch.from_numpy(pictures), num_flow_updates=3)
        flows = ours(*flambeau.from_numpy(pictures), num_flow_updates=3)
    for flow, other in zip(flows, expected, strict=True):
        np.testing.assert_allclose(flow.numpy(), other.numpy(), rtol=1e-3, atol=1e-3 * float(other.abs().max()))


@pytest.mark.parametrize(
    "name", ["resnet18", "densenet121", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_0", "vit_b_32"]
)
def test_names_of_nodes(name):
    expected = theirs_of.get_graph_node_names(torchvision_models.get_model(name))
    assert ours_of.get_graph_node_names(models.get_model(name)) == expected


def test_losses_of_regions():
    """Compare the loss functions of detectors, which some programs import for custom training loops."""
    from torchvision.models.detection import roi_heads as theirs

    from flambeau_vision.models.detection import roi_heads as ours

    random = np.random.default_rng(0)
    boxes = (random.random((5, 4)) * 20 + [0, 0, 25, 25]).astype("f4")
    numbers = {
        "logits": random.normal(size=(5, 3)).astype("f4"),
        "deltas": random.normal(size=(5, 12)).astype("f4"),
        "targets": random.normal(size=(5, 4)).astype("f4"),
        "boxes": boxes,
        "masks": (random.random((2, 50, 50)) > 0.5).astype("u1"),
        "pictures": random.normal(size=(5, 3, 14, 14)).astype("f4"),
        "keypoints": np.concatenate([random.random((2, 3, 2)) * 40, np.ones((2, 3, 1))], axis=2).astype("f4"),
        "labels": np.array([0, 2, 1, 1, 0]),
        "classes": np.array([2, 1]),
        "objects": np.array([0, 1, 1, 0, 1]),
    }

    def results(library, module):
        of = {name: library.tensor(value) for name, value in numbers.items()}
        probabilities = module.maskrcnn_inference(of["pictures"], [of["labels"][:2], of["labels"][2:]])
        places, scores = module.keypointrcnn_inference(of["pictures"], [of["boxes"][:2], of["boxes"][2:]])
        return [
            *module.fastrcnn_loss(of["logits"], of["deltas"], [of["labels"]], [of["targets"]]),
            module.maskrcnn_loss(of["pictures"], [of["boxes"]], [of["masks"]], [of["classes"]], [of["objects"]]),
            module.keypointrcnn_loss(of["pictures"], [of["boxes"]], [of["keypoints"]], [of["objects"]]),
            module.paste_masks_in_image(probabilities[1], of["boxes"][2:], (50, 50)),
            *(*probabilities, *places, *scores),
        ]

    for our, their in zip(results(flambeau, ours), results(pytorch, theirs), strict=True):
        np.testing.assert_allclose(our.numpy(), their.numpy(), rtol=2e-5, atol=1e-5)
