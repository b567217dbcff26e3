"""stable-baselines3: five algorithms trained for a few hundred steps, their actions, and saving and loading an agent."""

import tempfile

import torch
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

for kind, environment, options in (
    (PPO, "CartPole-v1", {"n_steps": 64, "batch_size": 32, "n_epochs": 3}),
    (PPO, "Pendulum-v1", {"n_steps": 64, "batch_size": 32, "n_epochs": 2, "use_sde": True}),
    (A2C, "CartPole-v1", {"policy_kwargs": {"net_arch": [16], "activation_fn": torch.nn.ELU}}),
    (DQN, "CartPole-v1", {"learning_starts": 50}),
    (SAC, "Pendulum-v1", {"learning_starts": 50}),
    (TD3, "Pendulum-v1", {"learning_starts": 100}),
):
    agent = kind("MlpPolicy", environment, seed=0, device="cpu", **options).learn(160)
    logged = {name: value for name, value in agent.logger.name_to_value.items() if "loss" in name}
    print(kind.__name__, {name: f"{float(value):.6f}" for name, value in logged.items()})
    seen = agent.get_env().reset()
    print([[f"{float(x):.4f}" for x in agent.predict(seen, deterministic=known)[0].flatten()] for known in (True, False)])
    print(len(list(agent.policy.parameters())), f"{sum(p.abs().sum().item() for p in agent.policy.parameters()):.4f}")

with tempfile.TemporaryDirectory() as folder:
    agent.save(f"{folder}/agent")
    again = TD3.load(f"{folder}/agent", env=agent.get_env(), device="cpu")
    same = zip(agent.policy.state_dict().items(), again.policy.state_dict().items(), strict=True)
    print(all(a == b and torch.equal(v, w) for (a, v), (b, w) in same), again.num_timesteps)
    again.learn(40, reset_num_timesteps=False)
    print(again.num_timesteps, f"{again.logger.name_to_value['train/critic_loss']:.4f}")

several = VecNormalize(make_vec_env("Pendulum-v1", n_envs=2, seed=0))
agent = A2C("MlpPolicy", several, seed=0, device="cpu").learn(60)
print(several.obs_rms.mean.shape, f"{several.obs_rms.mean[2]:.4f}", f"{agent.policy.log_std.item():.6f}")
print(agent.policy)
