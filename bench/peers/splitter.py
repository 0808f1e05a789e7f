"""Write a sentence splitter that takes each text for one sentence, in MiniSBD's format.

    python splitter.py FILE.onnx

LibreTranslate splits each text with a model that it downloads. This one needs no network, and no
time but that of the code around it. Runs in the environment `libretranslate`.
"""

import json
import sys

import onnx  # type: ignore[import-not-found]
from onnx import TensorProto, helper

CLASSES = 5
"""Inside a token, its end, the end of a sentence, and two more; MiniSBD ends the last sentence."""

FEATURES = ["space_before", "capitalized", "numeric", "end_of_para", "start_of_para"]
VOCABULARY = ["<PAD>", "<UNK>", "<EMPTY>", "<ROOT>"]


def graph() -> onnx.GraphProto:
    """Return a computation that gives every character the first class."""
    sizes = ["texts", "characters"]
    units = helper.make_tensor_value_info("units", TensorProto.INT64, sizes)
    inputs = helper.make_tensor_value_info("features", TensorProto.FLOAT, [*sizes, len(FEATURES)])
    output = helper.make_tensor_value_info("classes", TensorProto.FLOAT, [*sizes, CLASSES])
    zeros = [0.0] * (len(FEATURES) * CLASSES)
    weights = helper.make_tensor("weights", TensorProto.FLOAT, [len(FEATURES), CLASSES], zeros)
    node = helper.make_node("MatMul", ["features", "weights"], ["classes"])
    return helper.make_graph([node], "one sentence", [units, inputs], [output], [weights])


def main(path: str) -> None:
    """Write the model with the settings that MiniSBD reads from it."""
    model = helper.make_model(graph(), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    ids = {unit: number for number, unit in enumerate(VOCABULARY)}
    vocabulary = {"lang": "en", "_unit2id": ids, "_id2unit": VOCABULARY}
    settings = {"config": {"feat_funcs": FEATURES, "batch_size": 1}, "vocab": vocabulary}
    texts = {name: json.dumps(value) for name, value in settings.items()}
    helper.set_model_props(model, {"lang_code": "en", **texts})
    onnx.save(model, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
