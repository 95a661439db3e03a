"""Models of the vendor's Edge TPU table (silicon_edge.csv), from their published architectures.

Layers follow the papers; the classifier's softmax and the detectors' post-processing, which run on
the host, are left out, as "model execution only" does. Two rows are not built: see MISSING."""

from quantized import Net


def image(g, size):
    return g.arg((1, size, size, 3), "i8")


def classifier(g, x, n=1000):
    return g.dense(g.mean(x), n, relu=False)


def mobilenet_v1_body(g, x):
    outs = []
    x = g.conv(x, 32, 3, 2)
    for n, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5,
                      (1024, 2), (1024, 1)):
        x = g.conv(g.depthwise(x, 3, stride), n, 1)
        outs.append(x)
    return outs


def mobilenet_v1():
    g = Net()
    return g.text([classifier(g, mobilenet_v1_body(g, image(g, 224))[-1])])


def inverted(g, x, n, stride, expand, k=3, dilation=1):
    h = x if expand == 1 else g.conv(x, x.shape[3] * expand, 1)
    h = g.depthwise(h, k, stride, dilation=dilation)
    h = g.conv(h, n, 1, relu=False)
    return g.combine("add", x, h) if stride == 1 and x.shape[3] == n else h


MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2_body(g, x, width=1.0, output_stride=32):
    def channels(n):
        return max(8, int(n * width + 4) // 8 * 8)
    taps = {}
    x = g.conv(x, channels(32), 3, 2)
    scale, dilation = 2, 1
    for expand, n, count, stride in MOBILENET_V2:
        for i in range(count):
            step = stride if i == 0 else 1
            if step == 2 and scale >= output_stride:
                step, dilation = 1, dilation * 2
            if step == 2:
                taps[scale] = x
                scale *= 2
            x = inverted(g, x, channels(n), step, expand, dilation=dilation)
    taps[scale] = x
    return x, taps


def mobilenet_v2():
    g = Net()
    x, _ = mobilenet_v2_body(g, image(g, 224))
    return g.text([classifier(g, g.conv(x, 1280, 1))])


def ssd_mobilenet_v1(size=224, classes=91):
    g = Net()
    maps = mobilenet_v1_body(g, image(g, size))
    feet = [maps[10], maps[12]]
    x = maps[12]
    for squeeze, n in ((256, 512), (128, 256), (128, 256), (64, 128)):
        x = g.conv(g.conv(x, squeeze, 1), n, 3, 2)
        feet.append(x)
    boxes, scores = [], []
    for i, f in enumerate(feet):
        anchors = 3 if i == 0 else 6
        boxes.append(g.conv(f, 4 * anchors, 1, relu=False))
        scores.append(g.conv(f, classes * anchors, 1, relu=False))
    return g.text(boxes + scores)


def resnet50(version, size=299):
    g = Net()
    x = g.pool(g.conv(image(g, size), 64, 7, 2), 3, 2)
    for n, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            # V1 strides in a stage's first block, V2 in its last (slim's definitions).
            first = i == 0
            step = stride if first else 1
            short = g.conv(x, 4 * n, 1, step, relu=False) if first else x
            h = g.conv(x, n, 1, step if version == 1 else 1)
            h = g.conv(h, n, 3, 1 if version == 1 else step)
            h = g.conv(h, 4 * n, 1, relu=False)
            x = g.combine("add", short, h)
    return g.text([classifier(g, x)])


def inception_v1():
    g = Net()
    x = g.pool(g.conv(image(g, 224), 64, 7, 2), 3, 2)
    x = g.pool(g.conv(g.conv(x, 64, 1), 192, 3), 3, 2)
    blocks = ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None,
              (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
              (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), None,
              (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))
    for b in blocks:
        if b is None:
            x = g.pool(x, 3, 2)
            continue
        x = g.concatenate([g.conv(x, b[0], 1), g.conv(g.conv(x, b[1], 1), b[2], 3),
                           g.conv(g.conv(x, b[3], 1), b[4], 3), g.conv(g.pool(x, 3, 1), b[5], 1)], 3)
    return g.text([classifier(g, x)])


def normalised(g, x):
    """Normalisation before a convolution cannot be folded into one: a product, then a sum with relu."""
    x = g.round8(g.scalar("multiply", g.convert(x, "f32"), 0.9))
    return g.round8(g.scalar("maximum", g.scalar("add", g.convert(x, "f32"), 3.0), 0.0))


def densenet121(growth=32):
    g = Net()
    x = g.pool(g.conv(image(g, 224), 64, 7, 2), 3, 2)
    for s, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            h = g.conv(normalised(g, x), 4 * growth, 1)
            x = g.concatenate([x, g.conv(h, growth, 3)], 3)
        if s < 3:
            x = g.pool(g.conv(normalised(g, x), x.shape[3] // 2, 1), 2, 2)
    return g.text([classifier(g, x)])


def inception_resnet_v2(size=299):
    g = Net()
    x = g.conv(image(g, size), 32, 3, 2, pad="valid")
    x = g.conv(g.conv(x, 32, 3, pad="valid"), 64, 3)
    x = g.conv(g.conv(g.pool(x, 3, 2, pad="valid"), 80, 1, pad="valid"), 192, 3, pad="valid")
    x = g.pool(x, 3, 2, pad="valid")
    x = g.concatenate([g.conv(x, 96, 1), g.conv(g.conv(x, 48, 1), 64, 5),
                       g.conv(g.conv(g.conv(x, 64, 1), 96, 3), 96, 3), g.conv(g.pool(x, 3, 1), 64, 1)], 3)
    for _ in range(10):
        h = g.concatenate([g.conv(x, 32, 1), g.conv(g.conv(x, 32, 1), 32, 3),
                           g.conv(g.conv(g.conv(x, 32, 1), 48, 3), 64, 3)], 3)
        x = g.combine("add", x, g.conv(h, 320, 1, relu=False))
    x = g.concatenate([g.conv(x, 384, 3, 2, pad="valid"),
                       g.conv(g.conv(g.conv(x, 256, 1), 256, 3), 384, 3, 2, pad="valid"),
                       g.pool(x, 3, 2, pad="valid")], 3)
    for _ in range(20):
        h = g.concatenate([g.conv(x, 192, 1),
                           g.conv(g.conv(g.conv(x, 128, 1), 160, (1, 7)), 192, (7, 1))], 3)
        x = g.combine("add", x, g.conv(h, 1088, 1, relu=False))
    x = g.concatenate([g.conv(g.conv(x, 256, 1), 384, 3, 2, pad="valid"),
                       g.conv(g.conv(x, 256, 1), 288, 3, 2, pad="valid"),
                       g.conv(g.conv(g.conv(x, 256, 1), 288, 3), 320, 3, 2, pad="valid"),
                       g.pool(x, 3, 2, pad="valid")], 3)
    for _ in range(10):
        h = g.concatenate([g.conv(x, 192, 1),
                           g.conv(g.conv(g.conv(x, 192, 1), 224, (1, 3)), 256, (3, 1))], 3)
        x = g.combine("add", x, g.conv(h, 2080, 1, relu=False))
    return g.text([classifier(g, g.conv(x, 1536, 1))])


def vgg16():
    g = Net()
    x = image(g, 224)
    for n, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = g.conv(x, n, 3)
        x = g.pool(x, 2, 2)
    x = g.reshape(x, (1, 7 * 7 * 512))
    for n in (4096, 4096, 1000):
        x = g.dense(x, n)
    return g.text([x])


def efficientnet_edgetpu_s():
    """Fused expansions in the early blocks, no squeeze-and-excitation, relu."""
    g = Net()
    x = g.conv(image(g, 224), 32, 3, 2)
    fused = ((4, 24, 1, 1, 3), (8, 32, 2, 2, 3), (8, 48, 4, 2, 3))
    for expand, n, count, stride, k in fused:
        for i in range(count):
            step = stride if i == 0 else 1
            h = g.conv(g.conv(x, x.shape[3] * expand, k, step), n, 1, relu=False)
            x = g.combine("add", x, h) if step == 1 and x.shape[3] == n else h
    for expand, n, count, stride, k in ((8, 96, 5, 2, 3), (8, 144, 4, 1, 5), (8, 192, 2, 2, 5)):
        for i in range(count):
            x = inverted(g, x, n, stride if i == 0 else 1, expand, k)
    return g.text([classifier(g, g.conv(x, 1280, 1), 1001)])


MODELS = {
    "MobileNet v1 224": mobilenet_v1,
    "ResNet-50 V1 299": lambda: resnet50(1),
    "MobileNet v2 224": mobilenet_v2,
    "ResNet-50 V2 299": lambda: resnet50(2),
    "MobileNet v1 SSD 224": ssd_mobilenet_v1,
    "Inception v1 224": inception_v1,
    "DenseNet 224": densenet121,
    "Inception-ResNet V2 299": inception_resnet_v2,
    "VGG16 224": vgg16,
    "EfficientNet-EdgeTpu-S": efficientnet_edgetpu_s,
}
MISSING = {
    "DeepLab V3 513": "its decoder resizes images, and which of that runs on the host was not published",
    "U-Net Mv2 128": "the decoder's widths were not published",
}
IMPOSSIBLE = {
    "Inception-ResNet V2 299":
        "the published architecture has 55.7 M weights, of which 49 MB must come over USB 3 at each "
        "inference; in 57 ms its 5 Gbit/s carry 28 MB, so the table's row is of a smaller network",
}
