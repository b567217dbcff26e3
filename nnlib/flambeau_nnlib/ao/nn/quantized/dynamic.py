"""Layers with int8 weights, which quantize their inputs when they are called."""

from .linear import Linear
from .recurrent import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "RNNCell"]
