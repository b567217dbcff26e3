"""PyTorch's private support of tests, `torch.testing._internal`, which the tests of libraries import."""

from __future__ import annotations

import pytest

import flambeau as torch


def test_tests_on_several_gpus_are_skipped_without_them(monkeypatch):
    from unittest import SkipTest

    from flambeau.testing._internal.common_distributed import skip_if_lt_x_gpu

    for count, expected in ((0, ["any", "two or none"]), (1, ["any"]), (2, ["any", "two", "two or none"])):
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        found: list[str] = []
        for name, required, allow_cpu in (("any", 0, False), ("two", 2, False), ("two or none", 2, True)):
            try:
                skip_if_lt_x_gpu(required, allow_cpu=allow_cpu)(found.append)(name)
            except SkipTest as skip:
                assert str(skip) == "Need at least 2 CUDA devices"
        assert found == expected


def test_cases_compare_tensors():
    from flambeau.testing._internal.common_utils import TestCase, freeze_rng_state, instantiate_parametrized_tests, parametrize

    case = TestCase()
    case.assertEqual({"x": [torch.tensor(0.1 + 0.2), 1]}, {"x": [torch.tensor(0.3), 1]})
    case.assertEqual(torch.tensor(2), 2)
    case.assertNotEqual(torch.ones(2), torch.ones(2, dtype=torch.float64))
    case.assertEqual(torch.ones(2), torch.ones(2, dtype=torch.float64), exact_dtype=False)
    case.assertEqual(torch.tensor([1.0]), torch.tensor([1.5]), atol=1, rtol=0)
    for different in (([1], [1, 2]), ("a", "b"), ({"a": 1}, {"b": 1}), (torch.ones(2), torch.zeros(2)), (1.0, 2.0)):
        with pytest.raises(AssertionError):
            case.assertEqual(*different)
    with freeze_rng_state():
        first = torch.rand(2)
    assert torch.equal(first, torch.rand(2))

    seen = []

    @instantiate_parametrized_tests
    class Several(TestCase):
        @parametrize("x", [1, 2])
        @parametrize("dtype,y", [(torch.float32, 0)])
        @parametrize("shape", [(2, 3)])
        def test_it(self, x, dtype, y, shape):
            seen.append((x, dtype, y))

    names = sorted(name for name in dir(Several) if name.startswith("test_"))
    assert names == ["test_it_x_1_float32_y_0_shape0", "test_it_x_2_float32_y_0_shape0"]
    for name in names:
        getattr(Several(name), name)()
    assert seen == [(1, torch.float32, 0), (2, torch.float32, 0)]


def test_marks_of_parametrized_tests_remain():
    from unittest import TestResult, skip

    from flambeau.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize

    @instantiate_parametrized_tests
    class Marked(TestCase):
        @pytest.mark.slow
        @skip("no device")
        @parametrize("x", [1])
        def test_it(self, x):
            raise AssertionError

    assert [mark.name for mark in Marked.test_it_x_1.pytestmark] == ["slow"]
    result = TestResult()
    Marked("test_it_x_1").run(result)
    assert result.wasSuccessful() and [reason for _, reason in result.skipped] == ["no device"]


def test_decorators_and_the_seed_of_tests(monkeypatch):
    from unittest import SkipTest

    from flambeau.testing._internal import common_utils

    def test():
        return "run"

    for decorator in (common_utils.skipIfRocm, common_utils.skipIfRocm(msg="no"), common_utils.skipIfTorchDynamo("no")):
        assert decorator(test)() == "run"
    monkeypatch.delenv("PYTORCH_TEST_WITH_SLOW", raising=False)
    with pytest.raises(SkipTest):
        common_utils.slowTest(test)()
    monkeypatch.setenv("PYTORCH_TEST_WITH_SLOW", "1")
    assert common_utils.slowTest(test)() == "run"

    assert common_utils.SEED == 1234
    monkeypatch.setattr(common_utils, "SEED", 5)
    common_utils.TestCase().setUp()
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(3))


@pytest.mark.parametrize("checkpoint_activations", [False, True])
def test_the_transformer_of_the_tests_of_dtensor(checkpoint_activations):
    from flambeau.testing._internal.distributed._tensor.common_dtensor import ModelArgs, Transformer

    torch.manual_seed(0)
    model = Transformer(ModelArgs(dropout_p=0.0, checkpoint_activations=checkpoint_activations))
    scores = model(torch.arange(8)[None])
    scores.sum().backward()
    total = sum(parameter.grad.abs().sum() for parameter in model.parameters())
    assert scores.shape == (1, 8, 8) and model.output.weight is model.tok_embeddings.weight
    torch.testing.assert_close(scores.sum().item(), 69.05679, rtol=1e-4, atol=0)
    torch.testing.assert_close(total.item(), 8215.277, rtol=1e-4, atol=0)


def test_the_model_of_the_tests_of_quantization():
    from flambeau.testing._internal.common_quantization import TestHelperModules

    model = TestHelperModules.EmbeddingConvLinearModule()
    assert model(torch.zeros(2, 4, dtype=torch.int64)).shape == (2, 2, 8)
