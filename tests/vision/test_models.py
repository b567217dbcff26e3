"""Models: published parameter counts and state dict keys, output shapes, and loading of weights."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from PIL import Image

import flambeau as torch
from flambeau import nn
from flambeau_vision import models, ops
from flambeau_vision.models._utils import IntermediateLayerGetter

pytestmark = pytest.mark.slow

# Published parameter counts of models that are fast to build.
PARAMETERS = {
    "densenet121": 7_978_856,
    "efficientnet_b0": 5_288_548,
    "googlenet": 6_624_904,
    "mnasnet0_5": 2_218_512,
    "mobilenet_v2": 3_504_872,
    "mobilenet_v3_large": 5_483_032,
    "mobilenet_v3_small": 2_542_856,
    "regnet_x_400mf": 5_495_976,
    "regnet_y_400mf": 4_344_144,
    "resnet18": 11_689_512,
    "shufflenet_v2_x0_5": 1_366_792,
    "shufflenet_v2_x1_0": 2_278_604,
    "squeezenet1_0": 1_248_424,
    "squeezenet1_1": 1_235_496,
}
OPTIONS = {"googlenet": {"aux_logits": False, "init_weights": False}}


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", PARAMETERS)
def test_number_of_parameters(name):
    model = models.get_model(name, **OPTIONS.get(name, {}))
    assert count(model) == PARAMETERS[name] == models.get_model_weights(name).DEFAULT.meta["num_params"]


@pytest.mark.parametrize("name", [*PARAMETERS, "convnext_tiny"])
def test_output_and_gradients(name):
    torch.manual_seed(0)
    model = models.get_model(name, num_classes=5, **OPTIONS.get(name, {})).eval()
    output = model(torch.randn(1, 3, 64, 64))
    assert output.shape == (1, 5)
    output.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_keys_of_resnet():
    state = models.resnet18(num_classes=3).state_dict()
    assert len(state) == 122
    assert list(state)[:6] == [
        "conv1.weight",
        "bn1.weight",
        "bn1.bias",
        "bn1.running_mean",
        "bn1.running_var",
        "bn1.num_batches_tracked",
    ]
    assert state["layer2.0.downsample.0.weight"].shape == (128, 64, 1, 1) and state["fc.weight"].shape == (3, 512)


@pytest.mark.parametrize(
    ("name", "options", "keys"),
    [
        ("squeezenet1_1", {}, ["features.3.squeeze.weight", "features.12.expand3x3.bias", "classifier.1.weight"]),
        ("densenet121", {}, ["features.denseblock4.denselayer16.conv2.weight", "features.transition3.norm.weight"]),
        ("mobilenet_v2", {}, ["features.1.conv.1.weight", "features.18.0.weight", "classifier.1.bias"]),
        ("mobilenet_v3_small", {}, ["features.1.block.1.fc1.weight", "classifier.3.weight"]),
        ("shufflenet_v2_x0_5", {}, ["stage2.0.branch1.0.weight", "stage4.3.branch2.6.bias", "conv5.1.weight"]),
        ("mnasnet0_5", {}, ["layers.8.0.layers.3.weight", "classifier.1.weight"]),
        ("efficientnet_b0", {}, ["features.2.0.block.2.fc2.bias", "features.8.1.running_var"]),
        ("regnet_y_400mf", {}, ["stem.0.weight", "trunk_output.block4.block4-5.f.se.fc2.bias", "fc.bias"]),
        ("googlenet", {"init_weights": False}, ["inception4e.branch3.1.conv.weight", "aux2.fc2.bias"]),
        ("convnext_tiny", {}, ["features.1.0.layer_scale", "features.6.1.weight", "classifier.0.bias"]),
        ("vit_b_32", {"image_size": 32}, ["class_token", "encoder.layers.encoder_layer_11.mlp.3.bias", "heads.head.weight"]),
    ],
)
def test_keys_of_other_models(name, options, keys):
    state = models.get_model(name, **{"num_classes": 2, **options}).state_dict()
    assert set(keys) <= set(state)


def test_basic_block_by_hand():
    torch.manual_seed(0)
    block = models.resnet.BasicBlock(4, 4).eval()
    x = torch.randn(1, 4, 5, 5)

    def convolve(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
        padded = np.pad(values, [(0, 0), (0, 0), (1, 1), (1, 1)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,ocij->nohw", windows, weight)

    scale = 1 / np.sqrt(1 + 1e-5)  # BatchNorm with its initial mean 0 and variance 1
    hidden = np.maximum(convolve(x.numpy(), block.conv1.weight.detach().numpy()) * scale, 0)
    expected = np.maximum(convolve(hidden, block.conv2.weight.detach().numpy()) * scale + x.numpy(), 0)
    assert np.allclose(block(x).detach().numpy(), expected, atol=1e-4)


def test_zero_init_residual_starts_as_identity():
    stage = models.resnet18(num_classes=2, zero_init_residual=True).eval().layer1
    x = torch.rand(1, 64, 4, 4)
    assert torch.equal(stage(x), x)


def test_dilated_resnet_keeps_resolution():
    model = models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], 2, replace_stride_with_dilation=[False, True, True])
    features = IntermediateLayerGetter(model, {"layer2": "two", "layer4": "four"})
    with torch.no_grad():
        outputs = features(torch.randn(1, 3, 32, 32))
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {"two": (1, 512, 4, 4), "four": (1, 2048, 4, 4)}
    with pytest.raises(ValueError, match=r"not present in model: \['layer9'\]"):
        IntermediateLayerGetter(model, {"layer9": "x"})
    with pytest.raises(ValueError, match="None or a 3-element tuple"):
        models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], replace_stride_with_dilation=[True])


def test_alexnet_of_2017_has_the_same_weights():
    recent, old = models.AlexNet(num_classes=3).eval(), models.AlexNet2017(num_classes=3).eval()
    old.load_state_dict(recent.state_dict())
    images = torch.randn(1, 3, 224, 224)
    assert torch.equal(recent(images), old(images)) and not hasattr(old, "avgpool")
    assert recent(torch.randn(1, 3, 100, 120)).shape == (1, 3)


def test_auxiliary_classifiers_speak_in_training():
    model = models.googlenet(num_classes=4, init_weights=False)
    logits, second, first = model(torch.randn(2, 3, 64, 64))
    assert logits.shape == second.shape == first.shape == (2, 4)
    assert isinstance(model.eval()(torch.randn(1, 3, 64, 64)), torch.Tensor)


def test_memory_efficient_densenet_gives_the_same_gradients():
    torch.manual_seed(0)
    plain, efficient = (models.DenseNet(4, (2, 2), 8, num_classes=3, memory_efficient=saves) for saves in (False, True))
    efficient.load_state_dict(plain.state_dict())
    x = torch.randn(2, 3, 32, 32)
    gradients = []
    for model in (plain, efficient):
        model(x).sum().backward()
        gradients.append([parameter.grad.numpy() for parameter in model.parameters()])
    assert all(np.allclose(a, b, atol=1e-4) for a, b in zip(*gradients, strict=True))


def test_vision_transformer_of_convolutions():
    stem = [models.vision_transformer.ConvStemConfig(4, 3, 2), models.vision_transformer.ConvStemConfig(6, 3, 4)]
    model = models.VisionTransformer(16, 8, 1, 2, 8, 16, num_classes=3, conv_stem_configs=stem)
    assert model(torch.rand(2, 3, 16, 16)).shape == (2, 3) and model._process_input(torch.rand(1, 3, 16, 16)).shape == (1, 4, 8)
    names = [name for name, _ in model.conv_proj.named_children()]
    assert names == ["conv_bn_relu_0", "conv_bn_relu_1", "conv_last"] and model.conv_proj.conv_last.in_channels == 6
    assert not model.conv_proj.conv_last.bias.any()


def test_vision_transformer_wants_its_size():
    model = models.VisionTransformer(16, 8, num_layers=1, num_heads=2, hidden_dim=8, mlp_dim=16, num_classes=3)
    assert model(torch.randn(2, 3, 16, 16)).shape == (2, 3)
    with pytest.raises(AssertionError, match="Wrong image height! Expected 16 but got 24!"):
        model(torch.randn(2, 3, 24, 16))
    with pytest.raises(ValueError, match="indivisible by patch size"):
        models.VisionTransformer(20, 8, 1, 1, 8, 8)


def test_embeddings_of_places_are_interpolated():
    small = models.VisionTransformer(16, 8, 1, 2, 8, 16, num_classes=3)
    state = models.vision_transformer.interpolate_embeddings(32, 8, small.state_dict())
    large = models.VisionTransformer(32, 8, 1, 2, 8, 16, num_classes=3)
    large.load_state_dict(state)
    old, new = small.encoder.pos_embedding, large.encoder.pos_embedding
    assert torch.equal(old[:, 0], new[:, 0]) and torch.allclose(old[:, [1, 2, 3, 4]], new[:, [1, 4, 13, 16]], atol=1e-5)


# Model and weight registries


def test_listing_models():
    names = models.list_models()
    assert names == sorted(names) and {"resnet50", "vgg16_bn", "vit_h_14", "lraspp_mobilenet_v3_large"} <= set(names)
    assert models.list_models(include="vgg*", exclude="*_bn") == ["vgg11", "vgg13", "vgg16", "vgg19"]
    assert "fcn_resnet50" in models.list_models(module=models.segmentation)
    assert "fcn_resnet50" not in models.list_models(module=models)
    assert models.get_model_builder("ResNet18") is models.resnet18
    with pytest.raises(ValueError, match="Unknown model resnet19"):
        models.get_model("resnet19")


def test_every_model_has_weights_of_its_own_classes():
    for name in models.list_models():
        weights = models.get_model_weights(name)
        assert weights.DEFAULT.url.startswith("https://download.pytorch.org/models/")
        assert weights.DEFAULT.url.endswith(".pth") and weights.DEFAULT.meta["num_params"] > 900_000
        module = models.get_model_builder(name).__module__
        expected = (400,) if ".video." in module else (2,) if "keypoint" in name else (21, 91, 1000)
        categories = weights.DEFAULT.meta["categories"]
        assert categories is None if ".optical_flow." in module else len(categories) in expected


def test_getting_weights():
    weights = models.get_weight("ResNet50_Weights.IMAGENET1K_V2")
    assert weights is models.ResNet50_Weights.DEFAULT and repr(weights) == "ResNet50_Weights.IMAGENET1K_V2"
    assert weights.meta["categories"][207] == "golden retriever"
    assert models.get_model_weights(models.resnet50) is models.ResNet50_Weights
    with pytest.raises(ValueError, match=r"Unable to find weights ResNet50_Weights\.V9"):
        models.get_weight("ResNet50_Weights.V9")


def test_transforms_of_weights():
    prepare = models.MobileNet_V2_Weights.IMAGENET1K_V2.transforms()
    result = prepare(Image.new("RGB", (300, 400), (255, 0, 0)))
    expected = (np.array([1.0, 0, 0]) - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    assert result.shape == (3, 224, 224) and np.allclose(result[:, 0, 0].numpy(), expected, atol=1e-5)
    assert prepare(torch.zeros(2, 3, 240, 250, dtype=torch.uint8)).shape == (2, 3, 224, 224)
    assert "resize_size=[232]" in repr(prepare)


@pytest.fixture
def published(monkeypatch):
    """Replace downloads of weights by a dict; return the list of requests, and the dict, URL -> state dict."""
    asked: list[tuple] = []
    answers: dict[str, dict] = {}

    def load(url, *args, **kwargs):
        asked.append((url, kwargs))
        return answers[url]

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", load)
    return asked, answers


@pytest.mark.parametrize(
    "call",
    [
        lambda: models.squeezenet1_1(weights=models.SqueezeNet1_1_Weights.DEFAULT),
        lambda: models.squeezenet1_1(weights="IMAGENET1K_V1", progress=False),
        lambda: models.get_model("squeezenet1_1", weights="SqueezeNet1_1_Weights.IMAGENET1K_V1"),
        lambda: models.squeezenet1_1(pretrained=True),
        lambda: models.squeezenet1_1(True),
    ],
)
@pytest.mark.filterwarnings("ignore:The parameter 'pretrained'")
def test_weights_are_loaded(published, call):
    asked, answers = published
    source = models.squeezenet1_1()
    answers[models.SqueezeNet1_1_Weights.DEFAULT.url] = source.state_dict()
    model = call()
    assert torch.equal(model.classifier[1].weight, source.classifier[1].weight)
    assert len(asked) == 1 and asked[0][1]["check_hash"] is True


def test_pretrained_warns_and_means_the_first_weights(published):
    asked, answers = published
    answers[models.MobileNet_V2_Weights.IMAGENET1K_V1.url] = models.mobilenet_v2().state_dict()
    with pytest.warns(UserWarning, match="'pretrained' is deprecated"):
        models.mobilenet_v2(pretrained=True)
    assert asked[0][0].endswith("mobilenet_v2-b0353104.pth")


def test_weights_that_do_not_fit(published):
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10 instead"):
        models.resnet18(weights="DEFAULT", num_classes=10)
    with pytest.raises(TypeError, match="expected ResNet18_Weights but received ResNet34_Weights"):
        models.resnet18(weights=models.ResNet34_Weights.DEFAULT)
    with pytest.raises(KeyError):
        models.resnet18(weights="IMAGENET1K_V7")
    assert published[0] == []


def test_old_names_in_published_weights_load(published):
    _, answers = published
    source = models.densenet121()
    old = {}
    for key, value in source.state_dict().items():
        for name in ("norm1", "norm2", "conv1", "conv2"):
            key = key.replace(f".{name}.", f".{name[:-1]}.{name[-1]}.")
        old[key] = value
    answers[models.DenseNet121_Weights.DEFAULT.url] = old
    loaded = models.densenet121(weights="DEFAULT")
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), source.parameters(), strict=True))


def test_googlenet_with_weights_drops_what_only_training_needs(published):
    _, answers = published
    answers[models.GoogLeNet_Weights.DEFAULT.url] = models.googlenet(init_weights=False).state_dict()
    model = models.googlenet(weights="DEFAULT")
    assert model.aux1 is None and model.transform_input and count(model) == PARAMETERS["googlenet"]
    assert models.googlenet(weights="DEFAULT", aux_logits=True).aux1 is not None


def test_signature_of_builders():
    assert list(inspect.signature(models.resnet18).parameters) == ["weights", "progress", "pretrained", "kwargs"]


# Segmentation


def test_segmentation_of_a_small_network():
    torch.manual_seed(0)
    model = models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=4).eval()
    with torch.no_grad():
        assert model(torch.randn(1, 3, 48, 64))["out"].shape == (1, 4, 48, 64)
    backbone = models.mobilenet_v3_large(dilated=True, num_classes=2).state_dict()
    kept = {f"backbone.{key.removeprefix('features.')}" for key in backbone if key.startswith("features.")}
    assert kept <= set(model.state_dict())


def test_segmentation_heads():
    deeplab = models.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, aux_loss=True, num_classes=3)
    assert count(deeplab) == 11_029_328 - 18 * (256 + 1) - 18 * (10 + 1)
    with torch.no_grad():
        outputs = deeplab.eval()(torch.randn(1, 3, 32, 40))
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {"out": (1, 3, 32, 40), "aux": (1, 3, 32, 40)}
    head = models.segmentation.fcn.FCNHead(8, 5)
    assert head(torch.randn(2, 8, 6, 7)).shape == (2, 5, 6, 7)


def test_segmentation_loads_its_backbone(published):
    asked, answers = published
    source = models.mobilenet_v3_large()
    answers[models.MobileNet_V3_Large_Weights.IMAGENET1K_V1.url] = source.state_dict()
    model = models.segmentation.lraspp_mobilenet_v3_large()
    assert len(asked) == 1 and torch.equal(model.backbone["0"][0].weight, source.features[0][0].weight)


# Detection


def test_boxes_as_differences():
    coder = models.detection._utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
    anchors = torch.tensor([[0.0, 0.0, 10.0, 20.0], [5.0, 5.0, 25.0, 15.0]])
    boxes = torch.tensor([[2.0, 4.0, 12.0, 24.0], [5.0, 5.0, 25.0, 25.0]])
    differences = coder.encode(boxes, anchors)
    assert np.allclose(differences.numpy(), [[2.0, 2.0, 0, 0], [0, 5.0, 0, 5 * np.log(2)]], atol=1e-6)
    assert np.allclose(coder.decode(differences, anchors).numpy(), boxes.numpy(), atol=1e-5)


def test_matching_by_hand():
    overlaps = torch.tensor([[0.8, 0.1, 0.45, 0.3], [0.2, 0.1, 0.2, 0.35]])
    assert models.detection._utils.Matcher(0.5, 0.4)(overlaps).tolist() == [0, -1, -2, -1]
    assert models.detection._utils.Matcher(0.5, 0.4, every_object=True)(overlaps).tolist() == [0, -1, -2, 1]
    assert models.detection.ssd.SSDMatcher(0.5)(overlaps).tolist() == [0, -1, -1, 1]
    assert models.detection._utils.Matcher(0.5, 0.4)(overlaps[:0]).tolist() == [-1] * 4


def test_balanced_draws():
    labels = torch.tensor([1, 0, 0, 2, -1, 0, 1, 0])
    positive, negative = models.detection._utils.sample_balanced(labels, 4, 0.5)
    assert len(positive) == len(negative) == 2
    assert set(positive.tolist()) <= {0, 3, 6} and set(negative.tolist()) <= {1, 2, 5, 7}


def test_anchors_by_hand():
    images = models.detection.image_list.ImageList(torch.zeros(2, 3, 16, 24), [(16, 24), (16, 20)])
    generator = models.detection.anchor_utils.AnchorGenerator(((4,),), ((1.0, 4.0),))
    first, second = generator(images, [torch.zeros(2, 8, 2, 3)])
    assert torch.equal(first, second) and first.shape == (2 * 3 * 2, 4)
    assert first[:4].tolist() == [[-2, -2, 2, 2], [-1, -4, 1, 4], [6, -2, 10, 2], [7, -4, 9, 4]]
    assert first[-1].tolist() == [15, 4, 17, 12]
    defaults = models.detection.anchor_utils.DefaultBoxGenerator([[4]], scales=[0.25, 0.25], steps=[8])
    boxes = defaults(images, [torch.zeros(2, 8, 2, 3)])[0]
    assert defaults.num_anchors_per_location() == [4] and len(boxes) == 24
    assert boxes[:4].tolist() == [[1, 2, 7, 6], [1, 2, 7, 6], [-2, 3, 10, 5], [2.5, 0, 5.5, 8]]


def test_batches_of_images_of_several_sizes():
    transform = models.detection.transform.GeneralizedRCNNTransform(8, 12, [0.5] * 3, [0.25] * 3, size_divisible=16)
    images = [torch.full((3, 16, 16), 0.75), torch.full((3, 10, 20), 0.75)]
    batch, targets = transform(images, [{"boxes": torch.tensor([[0.0, 0.0, 8.0, 16.0]])}, {"boxes": torch.zeros(0, 4)}])
    assert batch.tensors.shape == (2, 3, 16, 16) and batch.image_sizes == [(8, 8), (6, 12)]
    assert (batch.tensors[0, :, :8, :8] == 1).all() and (batch.tensors[0, :, 8:] == 0).all()
    assert targets[0]["boxes"].tolist() == [[0, 0, 4, 8]]
    results = transform.eval().postprocess(targets, batch.image_sizes, [(16, 16), (10, 20)])
    assert results[0]["boxes"].tolist() == [[0, 0, 8, 16]]
    with pytest.raises(TypeError, match="to be of floating type"):
        transform([torch.zeros(3, 4, 4, dtype=torch.uint8)])


class TinyBackbone(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()
        self.out_channels = width
        first = [nn.Conv2d(3, 16, 4, 4), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU()]
        self.layers = nn.Sequential(*first, nn.Conv2d(16, width, 3, 1, 1), nn.ReLU())

    def forward(self, x):
        return {"0": self.layers(x)}


def squares(count: int, seed: int):
    """Return images with one red or green rectangle each, and their detection targets."""
    rng = np.random.default_rng(seed)
    images, targets = [], []
    for _ in range(count):
        (x, y), (width, height), label = rng.integers(0, 36, 2), rng.integers(16, 28, 2), int(rng.integers(1, 3))
        image = torch.zeros(3, 64, 64)
        image[label - 1, y : y + height, x : x + width] = 1
        images.append(image)
        box = [float(side) for side in (x, y, x + width, y + height)]
        targets.append({"boxes": torch.tensor([box]), "labels": torch.tensor([label])})
    return images, targets


def tiny_faster_rcnn() -> nn.Module:
    from flambeau_vision.ops import MultiScaleRoIAlign

    return models.detection.FasterRCNN(
        TinyBackbone(),
        min_size=64,
        max_size=64,
        rpn_anchor_generator=models.detection.anchor_utils.AnchorGenerator(((16, 24),), ((0.5, 1.0, 2.0),)),
        rpn_pre_nms_top_n_train=100,
        rpn_post_nms_top_n_train=30,
        rpn_post_nms_top_n_test=30,
        box_roi_pool=MultiScaleRoIAlign(["0"], 4, 2),
        box_head=nn.Sequential(nn.Flatten(), nn.Linear(256, 32), nn.ReLU()),
        box_predictor=models.detection.faster_rcnn.FastRCNNPredictor(32, 3),
        box_batch_size_per_image=32,
    )


def tiny_retinanet() -> nn.Module:
    anchors = models.detection.anchor_utils.AnchorGenerator(((16, 24),), ((0.5, 1.0, 2.0),))
    return models.detection.RetinaNet(TinyBackbone(), 3, min_size=64, max_size=64, anchor_generator=anchors)


def tiny_ssd() -> nn.Module:
    backbone = TinyBackbone()
    backbone.out_channels = [16]
    boxes = models.detection.anchor_utils.DefaultBoxGenerator([[2]], scales=[0.25, 0.4])
    return models.detection.SSD(backbone, boxes, (64, 64), 3)


def tiny_fcos() -> nn.Module:
    points = models.detection.anchor_utils.AnchorGenerator(((8,),), ((1.0,),))
    head = models.detection.fcos.FCOSHead(32, 1, 3, num_convs=1)
    return models.detection.FCOS(TinyBackbone(32), 3, min_size=64, max_size=64, anchor_generator=points, head=head)


@pytest.mark.parametrize("make", [tiny_faster_rcnn, tiny_retinanet, tiny_ssd, tiny_fcos])
def test_detectors_learn_and_answer(make):
    torch.manual_seed(0)
    model, (images, targets) = make(), squares(4, seed=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    history = []
    for _ in range(12):
        losses = model(images, targets)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    assert np.mean(history[-3:]) < 0.85 * np.mean(history[:3])
    assert all(parameter.grad is not None for parameter in model.parameters())
    with torch.no_grad():
        results = model.eval()([images[0], torch.rand(3, 40, 50)])
    for result, (height, width) in zip(results, [(64, 64), (40, 50)], strict=True):
        boxes, scores, labels = (result[name].numpy() for name in ("boxes", "scores", "labels"))
        assert len(boxes) == len(scores) == len(labels) and boxes.shape[1] == 4
        assert (boxes >= 0).all() and (boxes[:, [0, 2]] <= width + 1e-3).all() and (boxes[:, [1, 3]] <= height + 1e-3).all()
        assert (np.diff(scores) <= 1e-6).all() and set(labels.tolist()) <= {0, 1, 2}


def test_a_detector_finds_rectangles():
    from flambeau_vision.ops import box_iou

    torch.manual_seed(0)
    model, (images, targets) = tiny_ssd(), squares(16, seed=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(80):
        loss = sum(model(images, targets).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, targets = squares(8, seed=1)
    with torch.no_grad():
        results = model.eval()(images)
    right = sum(
        box_iou(result["boxes"][:1], target["boxes"]).item() > 0.5 and result["labels"][0] == target["labels"][0]
        for result, target in zip(results, targets, strict=True)
    )
    assert right >= 6


@pytest.mark.parametrize(
    ("targets", "error", "message"),
    [
        (None, ValueError, "should not be none when in training"),
        ([{"boxes": [[0, 0, 1, 1]]}], TypeError, "to be of type Tensor, got <class 'list'>"),
        ([{"boxes": torch.zeros(2, 3)}], ValueError, r"of shape \[N, 4\], got \(2, 3\)"),
        ([{"boxes": torch.tensor([[0.0, 5.0, 3.0, 5.0]])}], ValueError, r"invalid box \[0.0, 5.0, 3.0, 5.0\] for target"),
    ],
)
def test_targets_that_cannot_be_learned(targets, error, message):
    with pytest.raises(error, match=message):
        tiny_ssd()([torch.zeros(3, 64, 64)], targets)


def test_scripted_detectors_give_losses_and_detections():
    model, images = tiny_ssd().eval(), [torch.rand(3, 64, 64)]
    with pytest.warns(UserWarning, match="always returns a .Losses, Detections. tuple"):
        losses, detections = torch.jit.script(model)(images)
    assert losses == {} and torch.equal(detections[0]["boxes"], model(images)[0]["boxes"])
    targets = [{"boxes": torch.tensor([[5.0, 5.0, 40.0, 40.0]]), "labels": torch.tensor([1])}]
    with pytest.warns(UserWarning, match="always returns a .Losses, Detections. tuple"):
        losses, detections = torch.jit.script(model.train())(images, targets)
    assert set(losses) == set(model(images, targets)) and detections == []


def test_keys_of_faster_rcnn():
    model = models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights_backbone=None)
    norms = sum(module.weight.numel() * 2 for module in model.modules() if isinstance(module, nn.BatchNorm2d))
    assert count(model) - norms == 19_386_354  # the published count excludes normalization parameters
    keys = {
        "backbone.body.0.0.weight",
        "backbone.fpn.inner_blocks.1.0.bias",
        "rpn.head.conv.0.0.weight",
        "rpn.head.cls_logits.bias",
        "roi_heads.box_head.fc7.weight",
        "roi_heads.box_predictor.bbox_pred.bias",
    }
    assert keys <= set(model.state_dict())
    old = {key.replace("rpn.head.conv.0.0.", "rpn.head.conv."): value for key, value in model.state_dict().items()}
    model.load_state_dict(old)


def test_backbone_layers_are_frozen_from_below():
    extract = models.detection.backbone_utils.resnet_extractor
    body = extract(models.resnet18(num_classes=2), trainable_layers=2).body
    trained = {name.split(".")[0] for name, parameter in body.named_parameters() if parameter.requires_grad}
    assert trained == {"layer3", "layer4"}
    with pytest.raises(ValueError, match=r"in the range \[0,5\], got 6"):
        extract(models.resnet18(num_classes=2), trainable_layers=6)


@pytest.mark.parametrize("second", [False, True])
def test_swin(second):
    swin = models.swin_transformer
    version = {"block": swin.SwinTransformerBlockV2, "downsample_layer": swin.PatchMergingV2} if second else {}
    shape = {"depths": [2, 2], "num_heads": [2, 4], "window_size": [4, 4], "num_classes": 3}
    model = models.SwinTransformer([4, 4], 8, **shape, **version).eval()
    state = model.state_dict()
    keys = ["features.0.2.bias", "features.1.1.attn.relative_position_index", "features.2.norm.weight", "head.bias"]
    added = ["features.3.0.attn.cpb_mlp.2.weight", "features.1.0.attn.logit_scale", "features.1.0.attn.relative_coords_table"]
    assert set(keys) <= set(state) and second == (set(added) <= set(state))
    output = model(torch.randn(1, 3, 36, 50))  # the image size is not divisible by the window size
    assert output.shape == (1, 3)
    output.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_swin_attends_within_shifted_windows():
    attention = models.swin_transformer.ShiftedWindowAttention(4, [2, 2], [1, 1], num_heads=2).eval()
    image = torch.randn(1, 6, 6, 4)

    def reached(row: int, column: int) -> list[tuple[int, int]]:
        """Return the positions where the output depends on the given input pixel."""
        other = image.clone()
        other[0, row, column] += 1.0
        changed = (attention(other) - attention(image)).abs().amax(dim=(0, 3)) > 1e-6
        return [tuple(place) for place in changed.nonzero().tolist()]

    assert reached(1, 1) == [(1, 1), (1, 2), (2, 1), (2, 2)]  # windows are shifted by one pixel
    assert reached(0, 0) == [(0, 0)]  # the shift puts opposite borders into one window, where a mask separates them
    assert reached(5, 3) == [(5, 3), (5, 4)]


def test_regnet_widths_follow_the_rule():
    shape = models.regnet.BlockParams.from_init_params(depth=16, w_0=48, w_a=27.89, w_m=2.09, group_width=8, se_ratio=0.25)
    assert (shape.widths, shape.depths, shape.group_widths) == ([48, 104, 208, 440], [1, 3, 6, 6], [8] * 4)
    with pytest.raises(ValueError, match="Invalid RegNet settings"):
        models.regnet.BlockParams.from_init_params(depth=16, w_0=44, w_a=27.89, w_m=2.09, group_width=8)


def one_level(kind: type, **options) -> nn.Module:
    """Return an R-CNN detector with a single feature level."""
    names = {"MaskRCNN": "mask", "KeypointRCNN": "keypoint"}
    pool = ops.MultiScaleRoIAlign(["0"], output_size=4, sampling_ratio=2)
    anchors = models.detection.anchor_utils.AnchorGenerator(((8, 16, 32),), ((0.5, 1.0, 2.0),))
    options = {"min_size": 64, "max_size": 64, "rpn_anchor_generator": anchors, "box_roi_pool": pool, **options}
    options[f"{names[kind.__name__]}_roi_pool"] = pool
    return kind(TinyBackbone(), **options)


def test_mask_rcnn_learns_and_finds_masks():
    torch.manual_seed(0)
    detection = models.detection
    head = detection.mask_rcnn.MaskRCNNHeads(16, [8], 1)
    predictor = detection.mask_rcnn.MaskRCNNPredictor(8, 8, 3)
    classes = detection.faster_rcnn.FastRCNNPredictor(1024, 3)
    model = one_level(detection.MaskRCNN, mask_head=head, mask_predictor=predictor, box_predictor=classes)
    masks = torch.zeros(1, 64, 48, dtype=torch.uint8)
    masks[0, 10:40, 5:30] = 1
    target = {"boxes": torch.tensor([[5.0, 10.0, 30.0, 40.0]]), "labels": torch.tensor([2]), "masks": masks}
    losses = model([torch.rand(3, 64, 48)], [target])
    assert set(losses) == {"loss_classifier", "loss_box_reg", "loss_mask", "loss_objectness", "loss_rpn_box_reg"}
    losses["loss_mask"].backward()
    assert predictor.mask_fcn_logits.weight.grad[2].abs().sum() > 0 and not predictor.mask_fcn_logits.weight.grad[1].any()
    model.roi_heads.score_thresh = 0.0
    (found,) = model.eval()([torch.rand(3, 64, 48)])
    assert found["masks"].shape == (len(found["boxes"]), 1, 64, 48) and len(found["boxes"]) > 0
    assert found["masks"].min() >= 0 and found["masks"].max() <= 1
    old = {"mask_fcn1.weight": head[0][0].weight + 1, "mask_fcn1.bias": head[0][0].bias}
    head.load_state_dict(old)
    assert torch.equal(head[0][0].weight, old["mask_fcn1.weight"])
    with pytest.raises(ValueError, match="num_classes should be None when mask_predictor"):
        detection.MaskRCNN(TinyBackbone(), 3, mask_predictor=predictor)


def test_masks_are_pasted_where_their_boxes_are():
    from flambeau_vision.models.detection._masks import paste_masks_in_image

    boxes = torch.tensor([[10.0, 4.0, 29.0, 23.0], [-5.0, 30.0, 4.0, 50.0]])
    pasted = paste_masks_in_image(torch.ones(2, 1, 28, 28), boxes, (40, 32))[:, 0]
    inside = torch.zeros(40, 32, dtype=torch.bool)
    inside[5:23, 11:29] = True
    assert (pasted[0][inside] == 1).all() and not pasted[0, :3].any() and not pasted[0, :, :9].any()
    assert (pasted[1, 32:, :4] == 1).all() and not pasted[1, :28].any() and not pasted[1, :, 7:].any()


def test_keypoint_rcnn_learns_and_finds_keypoints():
    torch.manual_seed(0)
    detection = models.detection
    parts = {"keypoint_head": detection.keypoint_rcnn.KeypointRCNNHeads(16, [8])}
    parts["keypoint_predictor"] = detection.keypoint_rcnn.KeypointRCNNPredictor(8, 2)
    model = one_level(detection.KeypointRCNN, num_classes=2, **parts)
    keypoints = torch.tensor([[[10.0, 20.0, 1.0], [25.0, 30.0, 1.0]]])
    target = {"boxes": torch.tensor([[5.0, 10.0, 30.0, 40.0]]), "labels": torch.tensor([1]), "keypoints": keypoints}
    losses = model([torch.rand(3, 64, 48)], [target])
    assert losses["loss_keypoint"].isfinite()
    model.roi_heads.score_thresh = 0.0
    (found,) = model.eval()([torch.rand(3, 64, 48)])
    count = len(found["boxes"])
    assert count > 0 and found["keypoints"].shape == (count, 2, 3) and found["keypoints_scores"].shape == (count, 2)
    corner, end = found["boxes"][:, None, :2], found["boxes"][:, None, 2:]
    assert (found["keypoints"][..., 2] == 1).all()
    assert ((found["keypoints"][..., :2] >= corner) & (found["keypoints"][..., :2] <= corner + (end - corner).clamp(1))).all()


def test_keypoints_are_the_peaks_of_their_pictures():
    from flambeau_vision.models.detection._keypoints import heatmaps_to_keypoints, keypointrcnn_loss

    boxes = torch.tensor([[10.0, 20.0, 50.0, 60.0]])
    pictures = torch.zeros(1, 2, 8, 8)
    pictures[0, 0, 2, 5] = pictures[0, 1, 7, 0] = 9.0
    places, scores = heatmaps_to_keypoints(pictures, boxes)
    wanted = torch.tensor([[10 + 40 * 5.5 / 8, 20 + 40 * 2.5 / 8], [10 + 40 * 0.5 / 8, 20 + 40 * 7.5 / 8]])
    assert (places[0, :, :2] - wanted).abs().max() <= 2.5 and (scores > 7).all()
    visible = torch.cat([wanted, torch.ones(2, 1)], dim=1)[None]
    objects = [torch.tensor([0])]
    certain = keypointrcnn_loss(20 * pictures, [boxes], [visible], objects)
    assert certain < 1e-6 < keypointrcnn_loss(20 * pictures, [boxes], [visible.flip(1)], objects)
    hidden = visible * torch.tensor([1.0, 1.0, 0.0])
    assert keypointrcnn_loss(pictures, [boxes], [hidden], objects) == 0


def test_video_networks():
    resnet = models.video.resnet
    shapes = {"r3d_18": (2, 512, 1, 1, 1), "mc3_18": (2, 512, 4, 1, 1)}  # mc3_18 keeps the 4 frames of the video
    videos = torch.rand(2, 3, 4, 16, 16)
    for name, shape in shapes.items():
        convolutions = [resnet.Conv3DSimple] + [resnet.Conv3DSimple if name == "r3d_18" else resnet.Conv3DNoTemporal] * 3
        model = models.video.VideoResNet(resnet.BasicBlock, convolutions, [1, 1, 1, 1], resnet.BasicStem, num_classes=3).eval()
        with torch.no_grad():
            features = model.layer4(model.layer3(model.layer2(model.layer1(model.stem(videos)))))
            assert features.shape == shape and model(videos).shape == (2, 3)
    for block in (resnet.BasicBlock, resnet.Bottleneck):
        stage = models.video.VideoResNet(
            block, [resnet.Conv2Plus1D] * 4, [2, 1, 1, 1], resnet.R2Plus1dStem, num_classes=3, zero_init_residual=True
        )
        x = torch.rand(1, 64 * block.expansion, 2, 4, 4)
        assert torch.equal(stage.eval().layer1[1](x), x)


def test_video_models_have_the_published_keys():
    state = models.video.r2plus1d_18(num_classes=2).state_dict()
    assert {"stem.3.weight", "layer1.0.conv1.0.0.weight", "layer4.1.conv2.0.3.weight", "layer2.0.downsample.1.bias"} <= set(state)
    assert state["layer1.0.conv1.0.0.weight"].shape == (144, 64, 1, 3, 3)
    s3d = models.video.s3d(num_classes=400)
    assert count(s3d) == models.video.S3D_Weights.DEFAULT.meta["num_params"] == 8320048
    categories = models.get_model_weights("s3d").DEFAULT.meta["categories"]
    assert len(categories) == 400 and categories[0] == "abseiling" and categories[-1] == "zumba"
    assert models.list_models(models.video) == [
        "mc3_18", "mvit_v1_b", "mvit_v2_s", "r2plus1d_18", "r3d_18", "s3d", "swin3d_b", "swin3d_s", "swin3d_t",
    ]  # fmt: skip


def test_videos_are_prepared_picture_by_picture():
    prepare = models.video.R3D_18_Weights.DEFAULT.transforms()
    videos = torch.randint(0, 256, (2, 3, 3, 140, 190), dtype=torch.uint8)
    prepared = prepare(videos)
    assert prepared.shape == (2, 3, 3, 112, 112)
    one_level = {"atol": 0.02, "rtol": 0}  # a difference of 1 in 8-bit values, due to rounding
    torch.testing.assert_close(prepare(videos[1]), prepared[1], **one_level)
    torch.testing.assert_close(prepare(videos[:, 1:2])[:, :, 0], prepared[:, :, 1], **one_level)
    assert "resize_size=[128, 171]" in repr(prepare)


def test_fcos_points_learn_the_smallest_object_around_them():
    model = tiny_fcos()
    anchors = torch.tensor([[0.0, 0.0, 8.0, 8.0], [16.0, 16.0, 24.0, 24.0], [40.0, 40.0, 48.0, 48.0]])
    boxes = torch.tensor([[0.0, 0.0, 40.0, 40.0], [14.0, 14.0, 26.0, 26.0]])  # both boxes contain the second anchor's centre
    assert model._match(boxes, anchors, [3]).tolist() == [-1, 1, -1]
    assert model._match(boxes[:1], anchors, [3]).tolist() == [-1, 0, -1]  # the first anchor is too far from the box's centre
    assert model._match(boxes[:0], anchors, [3]).tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match="should be 1 instead of 2"):
        several = models.detection.anchor_utils.AnchorGenerator(((8, 16),), ((1.0,),))
        models.detection.FCOS(TinyBackbone(32), 3, anchor_generator=several)


def test_heads_of_ssd_for_other_classes():
    detection = models.detection
    for build, heads, options in (
        (detection.ssd300_vgg16, detection.ssd.SSDClassificationHead, ()),
        (detection.ssdlite320_mobilenet_v3_large, detection.ssdlite.SSDLiteClassificationHead, (torch.nn.BatchNorm2d,)),
    ):
        model = build(weights_backbone=None)
        channels = detection._utils.retrieve_out_channels(model.backbone, (320, 320))
        places = model.anchor_generator.num_anchors_per_location()
        head = heads(channels, places, 3, *options)
        assert model.head.classification_head(  # both heads accept the same features
            [torch.zeros(1, count, 2, 2) for count in channels]
        ).shape == (1, 4 * sum(places), 91)
        assert head([torch.zeros(1, count, 2, 2) for count in channels]).shape == (1, 4 * sum(places), 3)


def test_arguments_of_detectors_reach_their_transform():
    backbone = torch.nn.Conv2d(3, 4, 1)
    backbone.out_channels = 4
    for build in (models.detection.FasterRCNN, models.detection.RetinaNet):
        assert build(backbone, 2, fixed_size=(30, 20)).transform.fixed_size == (30, 20)
    matcher = models.detection._utils.Matcher(0.7, 0.2)
    assert models.detection.RetinaNet(backbone, 2, proposal_matcher=matcher).matcher is matcher
    assert issubclass(models.detection.FasterRCNN, models.detection.generalized_rcnn.GeneralizedRCNN)


def test_parts_that_programs_import():
    from flambeau_vision.models._utils import _make_divisible
    from flambeau_vision.models.resnet import BasicBlock, Bottleneck, conv1x1, conv3x3

    assert [_make_divisible(value, 8) for value in (3, 20, 27)] == [8, 24, 32]
    x = torch.ones(1, 8, 5, 5)
    assert conv3x3(8, 4)(x).shape == conv1x1(8, 4)(x).shape == (1, 4, 5, 5)
    assert BasicBlock(8, 8, norm_layer=None)(x).shape == Bottleneck(8, 2)(x).shape == x.shape


def randomize_batch_norms(network):
    """Set random BatchNorm statistics, so that tests depend on them; return the network in evaluation mode."""
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2.0)
    return network.eval()


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x0_5"])
def test_normalizations_of_quantizable_models_are_folded(name):
    network, images = randomize_batch_norms(getattr(models.quantization, name)()), torch.randn(1, 3, 64, 64)
    assert type(network).__name__.startswith("Quantizable") and not hasattr(getattr(models, name)(), "fuse_model")
    before = network(images)
    with pytest.raises(RuntimeError, match="8 bits"):
        network.fuse_model(is_qat=True)
    network.fuse_model()
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in network.modules())
    assert torch.allclose(network(images), before, rtol=1e-3, atol=1e-4 * before.abs().max().item())
