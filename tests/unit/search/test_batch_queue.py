"""Batches that wait to be searched."""

from nmtkit.data.batch import pad
from nmtkit.search.batch_queue import BatchQueue, EncodedBatch


def batch_of(models, sentences):
    src, src_mask = pad(sentences)
    return EncodedBatch([model.encode(src, src_mask) for model in models], src_mask.sum(1))


def test_looking_ahead_loses_no_batch(prefix_model):
    model = prefix_model(3, 12)
    batches = [batch_of([model], [[number, 0]]) for number in range(5, 8)]
    queue = BatchQueue(batches)
    assert not queue.holds_one_sentence
    assert [queue.take(1).lengths.tolist() for _ in batches] == [[2]] * 3
    assert queue.batch_size == 0
    assert BatchQueue(batches[:1]).holds_one_sentence
    assert not BatchQueue([]).holds_one_sentence
    assert not BatchQueue([batch_of([model], [[5, 0], [6, 0]])]).holds_one_sentence
