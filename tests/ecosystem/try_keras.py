"""Keras 3 with its backend for PyTorch: layers, training, saving, and its operations."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers, ops

print(keras.backend.backend())
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
images, labels = random.normal(size=(64, 8, 8, 1)).astype("float32"), random.integers(0, 3, 64)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(images, labels, epochs=3, batch_size=16, shuffle=False, verbose=0).history
print([f"{value:.4f}" for value in history["loss"]], f"{history['accuracy'][-1]:.3f}", model.count_params())
print([f"{value:.3f}" for value in model.predict(images[:2], verbose=0).flatten()])
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    loaded = keras.saving.load_model(f"{folder}/model.keras")
print(np.allclose(loaded.predict(images, verbose=0), model.predict(images, verbose=0)))
x = ops.arange(6, dtype="float32")
print([f"{v:.4f}" for v in ops.logsumexp(ops.reshape(x, (2, 3)), axis=1).tolist()], ops.shape(ops.einsum("i,j->ij", x, x)))
print(
    ops.convert_to_numpy(ops.extract_sequences(x, 3, 2)), ops.convert_to_numpy(ops.segment_sum(x, ops.array([0, 0, 1, 1, 2, 2])))
)
inputs = keras.Input((5, 4))
hidden = layers.LSTM(6, return_sequences=True)(inputs)
hidden = layers.MultiHeadAttention(2, 3)(hidden, hidden)
outputs = layers.Dense(1)(layers.GlobalAveragePooling1D()(hidden))
net = keras.Model(inputs, outputs)
net.compile("sgd", "mse")
sequences = random.normal(size=(16, 5, 4)).astype("float32")
print([f"{value:.4f}" for value in net.fit(sequences, sequences.sum((1, 2)), epochs=3, verbose=0, shuffle=False).history["loss"]])
