"""Cutting and resizing of videos."""

import numpy as np
import pytest

from tenvec.datasets._clips import crop_to_body, cut, pad_to_square, require_clip_parameters, resize


def test_clips_follow_one_another_and_leftovers_are_dropped():
    video = np.arange(2 * 3 * 11).reshape(2, 3, 11)
    clips = cut(video, 4)
    assert clips.shape == (2, 2, 3, 4)
    np.testing.assert_array_equal(clips[0], video[:, :, :4])
    np.testing.assert_array_equal(clips[1], video[:, :, 4:8])
    assert cut(video, 12).shape == (0, 2, 3, 12)


@pytest.mark.parametrize("shape", [(60, 60), (61, 43), (7, 200), (30, 30), (9, 11), (1, 1)])
def test_resizing_keeps_flat_frames_flat_and_frames_apart(shape):
    frames = np.stack([np.full(shape, value) for value in (0, 100, 7)], axis=-1)
    small = resize(frames, 30)
    assert small.shape == (30, 30, 3)
    np.testing.assert_allclose(small, np.broadcast_to([0.0, 100.0, 7.0], (30, 30, 3)), atol=1e-10)


def test_resizing_keeps_the_picture_where_it_is():
    frame = np.zeros((64, 64, 1))
    frame[4:12, 44:60] = 1  # near the top, at the right
    small = resize(frame, 16)[:, :, 0]
    rows, columns = np.nonzero(small > 0.5)
    assert set(rows) == {1, 2}
    assert set(columns) == {11, 12, 13, 14}
    assert small.sum() == pytest.approx(frame.sum() / 16, rel=0.02)


def test_shrinking_averages_instead_of_skipping():
    stripes = np.tile(np.array([0.0, 1.0]), 64)[:, None, None] * np.ones((1, 128, 1))
    small = resize(stripes, 16)
    assert np.abs(small - 0.5).max() < 0.1  # at the border; skipping would leave 0 or 1
    assert np.abs(small[2:-2] - 0.5).max() < 0.01


def test_the_crop_is_a_square_that_holds_every_frames_body():
    masks = np.zeros((50, 40, 2), dtype=np.uint8)
    masks[10:30, 20:24, 0] = 1
    masks[12:20, 18:26, 1] = 1
    crop = crop_to_body(masks)
    assert crop.shape == (22, 22, 2)  # the tallest, with a pixel free above and below
    assert crop.sum() == masks.sum()
    assert crop[0].sum() == crop[-1].sum() == 0
    columns = np.flatnonzero(crop.any(axis=(0, 2)))
    assert columns[0] + columns[-1] == 21  # in the middle


def test_padding_repeats_the_border():
    video = np.arange(4 * 2).reshape(4, 2, 1)
    square = pad_to_square(video)
    assert square.shape == (4, 4, 1)
    np.testing.assert_array_equal(square[1, :, 0], [2, 2, 3, 3])


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "12", True, None])
def test_sizes_must_be_positive_whole_numbers(wrong):
    with pytest.raises(ValueError, match="clip_length must be a positive whole number"):
        require_clip_parameters(wrong, 30)
    with pytest.raises(ValueError, match="size must be a positive whole number"):
        require_clip_parameters(12, wrong)
