"""Corrections that the documents' programs need to run with any PyTorch.

``MISSPELLED`` corrects lines: (document, text as written, corrected text, reason).  ``GIVEN`` supplies code that a document
omits: (document, the line before which it is inserted, the code).  All other code runs as written.
"""

MISSPELLED = [
    ("sixty_minutes", "torch.Tensro(5, 3)", "torch.Tensor(5, 3)", "no such name"),
    ("sixty_minutes", "np.ones(4, 4)", "np.ones((4, 4))", "NumPy takes the shape as a tuple"),
    ("sixty_minutes", "loss.grad_fn.next_functions()", "loss.grad_fn.next_functions", "an attribute, not a method"),
    ("sixty_minutes", "torch.cuda.is_avaiable()", "torch.cuda.is_available()", "no such name"),
    ("sixty_minutes", "out.backward(torch.randn(1, 10))  ", "out.backward(torch.randn(1, 10), retain_graph=True)  ",
     "the next backward goes through the same graph, which every PyTorch has freed by then"),
    ("summary", "x + y || torch.add(x, y)", "x + y; torch.add(x, y)", "'||' is prose for 'or'"),
    ("summary", "        [4.5000, 4.5000]])", "#        [4.5000, 4.5000]])", "second line of a comment"),
    ("summary", "          torch.nn.Linear(D_in, H),\n          torch.nn.ReLU(),\n          torch.nn.Linear(H, D_out),\n       "
                " )",
     "", "the rest of a statement that is commented out"),
    ("reference", "input = (Variable(torch.randn(20,20).double(), requires_grad=True),)",
     "input = (Variable(torch.randn(20,20).double(), requires_grad=True), "
     "Variable(torch.randn(30,20).double(), requires_grad=True))", "forward needs a weight"),
]  # fmt: skip

GIVEN = [
    ("sixty_minutes", "torch.mm(tensor1, tensor2)", "tensor1, tensor2 = torch.rand(2, 3), torch.rand(3, 2)"),
    ("sixty_minutes", "torch.dot(tensor1, tensor2)", "tensor1, tensor2 = torch.rand(3), torch.rand(3)"),
    ("sixty_minutes", "torch.linspace(begin, end, count)", "begin, end, count = 0, 1, 5"),
    ("sixty_minutes", "# Tensor to Numpy", "import numpy as np"),
    ("sixty_minutes", "net.cuda(index)", "index, inputs, labels = 0, torch.rand(1), torch.rand(1)"),
    ("summary", "torch.add(x, y, out=result)", "result = torch.empty(5, 3)"),
    ("summary", "z = x.view(-1, 8)", "x = torch.rand(4, 4)"),
    ("summary", "x.item()", "x = torch.rand(1)"),
    ("reference", "model = torchvision.models.resnet18", "import torch, torchvision\nimport torch.nn as nn, torch.optim as "
                                                         "optim"),
    ("reference", "# Inherit from Function", "from torch.autograd import Function, Variable"),
]  # fmt: skip
