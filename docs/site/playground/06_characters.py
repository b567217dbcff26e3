"""A recurrent network that writes text."""

import flambeau as torch
from flambeau import nn

torch.manual_seed(0)
text = "the quick brown fox jumps over the lazy dog. " * 4
letters = sorted(set(text))
numbers = torch.tensor([letters.index(letter) for letter in text])


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(letters), 16)
        self.rnn = nn.GRU(16, 48, batch_first=True)
        self.head = nn.Linear(48, len(letters))

    def forward(self, numbers, state=None):
        output, state = self.rnn(self.embed(numbers), state)
        return self.head(output), state


net = Writer()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
windows = numbers.unfold(0, 33, 8)
for step in range(61):
    scores, _ = net(windows[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

number, state, written = numbers[:1, None], None, ""
with torch.no_grad():
    for _ in range(60):
        scores, state = net(number, state)
        number = scores.argmax(-1)
        written += letters[number.item()]
print("t" + written)
