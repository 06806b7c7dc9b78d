"""The Ballet actions, from folders of frames written here."""

import sys

import numpy as np
import pytest

from tenvec.datasets import load_ballet

Image = pytest.importorskip("PIL.Image")


def write_clip(folder, n_frames, shape=(12, 12), suffix="png", mode="L", first=1):
    """Write frames as bright as 10 times their number, with a white corner at the top left."""
    folder.mkdir(parents=True)
    for number in range(first, first + n_frames):
        frame = np.full(shape, 10 * number, dtype=np.uint8)
        frame[: shape[0] // 3, : shape[1] // 3] = 255
        Image.fromarray(frame).convert(mode).save(folder / f"frame{number}.{suffix}")


@pytest.fixture
def three_clips(tmp_path):
    write_clip(tmp_path / "ballet" / "hopping" / "clip2", 5)
    write_clip(tmp_path / "ballet" / "hopping" / "clip10", 12, suffix="bmp", mode="RGB")
    write_clip(tmp_path / "ballet" / "turning" / "1", 7, shape=(20, 20), suffix="pgm")
    return tmp_path


def test_frames_become_sets_in_the_order_of_their_numbers(three_clips):
    sets = load_ballet(three_clips, clip_length=5, size=6, partial=True)
    assert sets.data.shape == (1 + 2 + 1, 6, 6, 5)
    assert sets.target_names.tolist() == ["hopping", "turning"]
    assert sets.video_names.tolist() == ["hopping/clip2", "hopping/clip10", "turning/1"]
    assert sets.target.tolist() == [0, 0, 0, 1]
    assert sets.video.tolist() == [0, 1, 1, 2]
    assert sets.start.tolist() == [0, 0, 5, 0]
    brightness = sets.data[:, -1, -1]
    np.testing.assert_allclose(brightness[0], [10, 20, 30, 40, 50], atol=1)
    np.testing.assert_allclose(brightness[2], [60, 70, 80, 90, 100], atol=1)  # 10 after 9
    assert "Fathi" in sets.DESCR


def test_frames_stay_upright(three_clips):
    for image in load_ballet(three_clips, clip_length=5, size=6, partial=True).data[..., 0]:
        assert image[0, 0] > 240
        assert image[0, -1] < 100
        assert image[-1, 0] < 100


def test_frames_that_are_not_square_are_padded(tmp_path):
    write_clip(tmp_path / "ballet" / "jumping" / "1", 3, shape=(24, 12))
    X, y = load_ballet(tmp_path, clip_length=3, size=24, partial=True, return_X_y=True)
    assert X.shape == (1, 24, 24, 3)
    assert y.tolist() == [0]
    np.testing.assert_array_equal(X[0, :, 0, 0], [255] * 8 + [10] * 16)  # its own border repeated


@pytest.mark.parametrize("suffix", ["png", "jpg", "JPEG", "bmp", "PGM"])
def test_all_named_formats_are_read(tmp_path, suffix):
    write_clip(tmp_path / "leg swinging" / "a", 2, suffix=suffix)
    (tmp_path / "leg swinging" / "a" / "notes.txt").write_text("not a frame")
    (tmp_path / "leg swinging" / "a" / ".hidden.png").write_text("not a frame")
    (tmp_path / "__MACOSX").mkdir()
    sets = load_ballet(tmp_path, clip_length=2, size=5, partial=True)
    assert sets.data.shape == (1, 5, 5, 2)
    assert sets.data[0, -1, -1] == pytest.approx([10, 20], abs=3)


def test_the_whole_data_set_has_eight_actions_and_44_clips(tmp_path):
    for clip in range(44):
        write_clip(tmp_path / "ballet" / f"action {clip % 8}" / f"{clip}", 2, shape=(4, 4))
    assert load_ballet(tmp_path, clip_length=2, size=4).data.shape == (44, 4, 4, 2)


def test_a_part_is_refused_unless_it_is_asked_for(three_clips):
    with pytest.raises(ValueError, match="3 clips of 2 actions; expected 44 clips of 8") as failure:
        load_ballet(three_clips)
    assert "partial=True" in str(failure.value)


def test_missing_frames_are_named_with_where_they_are_had_and_how_they_are_laid_out(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cs\.sfu\.ca") as failure:
        load_ballet(tmp_path)
    assert f"{tmp_path / 'ballet'}/<action>/<clip>/<frame>.png" in str(failure.value)
    with pytest.raises(FileNotFoundError, match="TENVEC_DATA"):
        load_ballet()
    (tmp_path / "ballet" / "hopping").mkdir(parents=True)
    with pytest.raises(ValueError, match="holds no frames; expected image files"):
        load_ballet(tmp_path)


def test_a_folder_of_other_data_sets_is_not_taken_for_it(tmp_path):
    (tmp_path / "feret").mkdir()
    (tmp_path / "imdb" / "aclImdb").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="Ballet"):
        load_ballet(tmp_path)


def test_damage_is_said_to_be_so(three_clips):
    frame = three_clips / "ballet" / "turning" / "1" / "frame3.pgm"
    whole = frame.read_bytes()
    frame.write_bytes(whole[:50])
    with pytest.raises(ValueError, match=r"frame3\.pgm cannot be read as an image"):
        load_ballet(three_clips, clip_length=5, partial=True)
    frame.write_text("no image at all")
    with pytest.raises(ValueError, match=r"frame3\.pgm cannot be read as an image"):
        load_ballet(three_clips, clip_length=5, partial=True)
    Image.fromarray(np.zeros((5, 4), dtype=np.uint8)).save(frame)
    with pytest.raises(ValueError, match=r"different shapes, \(5, 4\) and \(20, 20\)"):
        load_ballet(three_clips, clip_length=5, partial=True)


def test_a_clip_without_frames_is_refused(three_clips):
    (three_clips / "ballet" / "turning" / "2").mkdir()
    with pytest.raises(ValueError, match=r"2 holds no frames; expected \.png"):
        load_ballet(three_clips, clip_length=5, partial=True)


def test_sets_longer_than_every_clip_are_refused(three_clips):
    with pytest.raises(ValueError, match="clip_length=13 frames; the longest has 12"):
        load_ballet(three_clips, clip_length=13, partial=True)
    with pytest.raises(ValueError, match="clip_length must be"):
        load_ballet(three_clips, clip_length=0)


def test_without_pillow_the_extra_is_named(three_clips, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"tenvec\[datasets\]"):
        load_ballet(three_clips, partial=True)


@pytest.mark.real_data
def test_real_ballet(real_data):
    sets = load_ballet(real_data("ballet"))
    assert sets.data.shape == (713, 30, 30, 12)
    assert len(sets.target_names) == 8
