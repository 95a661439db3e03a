"""The six applications of the v1 paper (silicon_v1.csv).

The paper gives layer counts, weights and batch; layer shapes were never published. MLP0 and MLP1 are
square layers of the stated weights. The LSTM and CNN graphs are reconstructions that agree with the
paper's layer counts, weights, batch and operations for each weight byte, and with nothing else."""

from quantized import Net


def mlp(layers, width, batch):
    g = Net()
    x = g.arg((batch, width), "i8")
    for _ in range(layers):
        x = g.dense(x, width)
    return g.text([x])


def lstm(layers, vectors, width, batch):
    """Fully connected layers with the gates' elementwise work spread evenly between them."""
    g = Net()
    x = state = g.arg((batch, width), "i8")
    done = 0
    for i in range(layers):
        x = g.dense(x, width, relu=False)
        while done < vectors * (i + 1) // layers:
            if done % 3 == 0:
                x = g.table("logistic", x)
            elif done % 3 == 1:
                x = g.table("tanh", x)
            else:
                x = state = g.combine("multiply", x, state)
            done += 1
    return g.text([x])


def cnn0():
    """16 convolutions of 3x3 on a 19x19 board, 240 channels: 8.3 M weights, each used 361 times."""
    g = Net()
    x = g.arg((8, 19, 19, 240), "i8")
    for _ in range(16):
        x = g.conv(x, 240, 3)
    return g.text([x])


CNN1 = dict(stages=((28, 167, 24), (14, 125, 24), (7, 53, 24)), fc=5064)


def cnn1(stages=CNN1["stages"], fc=CNN1["fc"], batch=32, pools=13):
    """72 convolutions, 13 pools and 4 fully connected layers."""
    g = Net()
    size, channels, _ = stages[0]
    x = g.arg((batch, size, size, channels), "i8")
    left = pools - (len(stages) - 1)  # those that keep the size stand between the first layers
    for s, (size, channels, n) in enumerate(stages):
        if s:
            x = g.pool(x, 2, 2)
        for i in range(n):
            x = g.conv(x, channels, 3)
            if left and i % 2:
                x = g.pool(x, 3, 1)
                left -= 1
    n = x.shape[1] * x.shape[2] * x.shape[3]
    x = g.reshape(x, (batch, n))
    for i in range(4):
        x = g.dense(x, fc)
    return g.text([x])


MODELS = {
    "MLP0": lambda: mlp(5, 2000, 200),
    "MLP1": lambda: mlp(4, 1118, 168),
    "LSTM0": lambda: lstm(24, 34, 1472, 64),
    "LSTM1": lambda: lstm(37, 19, 959, 96),
    "CNN0": cnn0,
    "CNN1": cnn1,
}
