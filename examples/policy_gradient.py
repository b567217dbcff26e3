"""REINFORCE (Williams, 1992) on a small custom environment: keep a ball on a tilting beam by choosing the tilt.

python -m flambeau examples/policy_gradient.py
"""

import argparse

import torch
from curves import add_plot_option, draw
from torch import nn
from torch.distributions import Categorical


class Beam:
    """A ball at `position` in [-1, 1] on a beam; each action tilts the beam left or right.

    An episode ends when the ball falls off.
    """

    def __init__(self, longest=100):
        self.longest = longest

    def reset(self):
        self.position, self.speed = torch.empty(2).uniform_(-0.2, 0.2).tolist()
        self.steps = 0
        return torch.tensor([self.position, self.speed])

    def step(self, action):
        self.speed += (0.05 if action else -0.05) + 0.04 * self.position
        self.position += self.speed
        self.steps += 1
        fallen = abs(self.position) > 1
        return torch.tensor([self.position, self.speed]), 1.0, fallen or self.steps >= self.longest


def play(environment, policy):
    """Play one episode; return the log-probabilities of the actions and the rewards."""
    state, log_probabilities, rewards, done = environment.reset(), [], [], False
    while not done:
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        log_probabilities.append(choice.log_prob(action))
        state, reward, done = environment.step(action.item())
        rewards.append(reward)
    return torch.stack(log_probabilities), rewards


def returns(rewards, discount):
    """Return the standardized discounted sum of future rewards at each step."""
    result, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        result.insert(0, total)
    result = torch.tensor(result)
    return (result - result.mean()) / (result.std() + 1e-8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--discount", type=float, default=0.98)
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    environment = Beam()
    policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    lengths, recent = [], []
    for episode in range(1, args.episodes + 1):
        log_probabilities, rewards = play(environment, policy)
        loss = -(log_probabilities * returns(rewards, args.discount)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
        recent = [*recent, len(rewards)][-50:]
        if episode % 50 == 0 or episode == args.episodes:
            print(f"episode {episode:4d}  balanced for {sum(recent) / len(recent):.1f} steps on average")
    if args.plot:
        draw(args.plot, "episode", {"Steps until the ball falls": lengths})


if __name__ == "__main__":
    main()
