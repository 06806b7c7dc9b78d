"""The Weizmann silhouettes."""

import numpy as np
import pytest
from scipy.io import savemat

from tenvec.datasets import load_weizmann
from tenvec.datasets.weizmann import ACTIONS, PEOPLE


def published_names():
    """List the 93 videos: each person does each action, Lena three of them twice."""
    names = [f"{person}_{action}" for person in PEOPLE for action in ACTIONS]
    for twice in ("run", "skip", "walk"):
        place = names.index(f"lena_{twice}")
        names[place : place + 1] = [f"lena_{twice}1", f"lena_{twice}2"]
    return names


def silhouette(n_frames, height=24, width=16):
    """A body like an L that stands at the lower left and raises its arm in every other frame."""
    masks = np.zeros((height, width, n_frames), dtype=np.uint8)
    masks[2:22, 4:7] = 1
    masks[18:22, 4:13] = 1
    masks[2:5, 4:13, 1::2] = 1
    return masks


def write(path, videos, variable="aligned_masks"):
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {variable: videos, "original_masks": videos}, long_field_names=True)


@pytest.fixture
def videos():
    return {name: silhouette(9 + place % 3) for place, name in enumerate(published_names())}


def test_videos_become_clips_with_action_person_and_video(tmp_path, videos):
    write(tmp_path / "weizmann" / "mask.mat", videos)
    clips = load_weizmann(tmp_path, clip_length=5, size=11)
    n_clips = sum(masks.shape[2] // 5 for masks in videos.values())
    assert clips.data.shape == (n_clips, 11, 11, 5)
    assert set(np.unique(clips.data)) == {0.0, 1.0}
    names = list(videos)
    for clip in range(n_clips):
        person, action = names[clips.video[clip]].split("_")
        assert clips.person_names[clips.person[clip]] == person
        assert clips.target_names[clips.target[clip]] in (action, action.rstrip("12"))
        assert clips.start[clip] % 5 == 0
    assert clips.video_names.tolist() == names
    assert {"wave1", "wave2", "run"} <= set(clips.target_names)
    assert "run1" not in clips.target_names
    assert "Gorelick" in clips.DESCR


def test_silhouettes_stay_upright_and_in_time(tmp_path, videos):
    write(tmp_path / "mask.mat", videos)
    clip = load_weizmann(tmp_path, clip_length=4, size=11).data[0]
    legs, head = clip[-4:-1], clip[1:3]
    assert legs.sum(axis=(0, 1)).min() > head[:, :, 0].sum()  # the L stands on its foot
    arms = head[:, 6:].sum(axis=(0, 1))
    assert arms[1] > arms[0]
    assert arms[3] > arms[2]
    assert clip[:, :5].sum() > clip[:, 6:].sum()  # and is not mirrored


def test_the_second_name_of_the_file_is_known_too(tmp_path, videos):
    write(tmp_path / "weizmann" / "classification_masks.mat", videos)
    X, y = load_weizmann(tmp_path, clip_length=9, size=8, return_X_y=True)
    assert X.shape == (93, 8, 8, 9)
    assert y.shape == (93,)


def test_a_missing_file_is_named_with_where_it_is_had_and_where_it_goes(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wisdom\.weizmann\.ac\.il") as failure:
        load_weizmann(tmp_path)
    assert f"put it at {tmp_path / 'weizmann' / 'mask.mat'}" in str(failure.value)
    with pytest.raises(FileNotFoundError, match="TENVEC_DATA"):
        load_weizmann()


def test_a_truncated_file_is_refused(tmp_path, videos):
    path = tmp_path / "mask.mat"
    write(path, videos)
    content = path.read_bytes()
    for keep in (200, len(content) // 4, len(content) * 3 // 4, len(content) - 50):
        path.write_bytes(content[:keep])
        with pytest.raises(ValueError, match=r"Weizmann.*mask\.mat"):
            load_weizmann(tmp_path)


def test_an_incomplete_or_foreign_file_is_refused(tmp_path, videos):
    path = tmp_path / "mask.mat"
    write(path, videos, variable="masks")
    with pytest.raises(ValueError, match="expected aligned_masks"):
        load_weizmann(tmp_path)
    savemat(path, {"aligned_masks": videos}, long_field_names=True)
    with pytest.raises(ValueError, match="expected aligned_masks and original_masks"):
        load_weizmann(tmp_path)
    savemat(path, {"aligned_masks": np.ones((3, 4)), "original_masks": 1})
    with pytest.raises(ValueError, match=r"array of shape \(3, 4\).*expected a struct"):
        load_weizmann(tmp_path)
    short = dict(list(videos.items())[:-1])
    write(path, short)
    with pytest.raises(ValueError, match="has 92 videos; expected 93"):
        load_weizmann(tmp_path)
    write(path, {**short, "shahar_swim": silhouette(9)})
    with pytest.raises(ValueError, match="a field 'shahar_swim'; expected <person>_<action>"):
        load_weizmann(tmp_path)


@pytest.mark.parametrize(
    ("masks", "problem"),
    [
        (2 * silhouette(9), "holds values other than 0 and 1"),
        (0 * silhouette(9), "shows no body"),
        (silhouette(9)[:, :, 0], r"has shape \(24, 16\)"),
    ],
)
def test_a_video_that_is_no_silhouette_is_refused(tmp_path, videos, masks, problem):
    write(tmp_path / "mask.mat", {**videos, "eli_walk": masks})
    with pytest.raises(ValueError, match=rf"aligned_masks\.eli_walk {problem}"):
        load_weizmann(tmp_path)


def test_clips_longer_than_every_video_are_refused(tmp_path, videos):
    write(tmp_path / "mask.mat", videos)
    with pytest.raises(ValueError, match="clip_length=12 frames; the longest has 11"):
        load_weizmann(tmp_path)
    with pytest.raises(ValueError, match="size must be"):
        load_weizmann(tmp_path, size=0)


@pytest.mark.real_data
def test_real_silhouettes(real_data):
    home = real_data("weizmann/mask.mat")
    clips = load_weizmann(home)
    assert clips.data.shape == (437, 30, 30, 12)
    assert set(np.unique(clips.data)) == {0.0, 1.0}
    assert np.bincount(clips.target, minlength=10).min() == 30  # run, the shortest videos
    assert len(np.unique(clips.video)) == 93
    body = clips.data.sum(axis=(1, 2))
    assert body.min() > 40  # nobody is lost
    # People stand: in the actions on the spot the silhouette is taller than it is wide.
    for name in ("pjump", "wave1", "walk"):
        mean = clips.data[clips.target == list(clips.target_names).index(name)].mean(axis=(0, 3))
        tall, wide = (mean.max(axis=1) > 0.3).sum(), (mean.max(axis=0) > 0.3).sum()
        assert tall > 1.5 * wide
    # Who bends fills the lower part, who waves with both hands the upper, and only there are
    # hands at the sides.
    sides = np.r_[0:10, 20:30]
    upper, lower, hands = {}, {}, {}
    for action, name in enumerate(clips.target_names):
        of_action = clips.data[clips.target == action]
        upper[name], lower[name] = of_action[:, :12].mean(), of_action[:, 18:].mean()
        hands[name] = of_action[:, :15][:, :, sides].mean()
    assert lower["bend"] > 1.3 * upper["bend"]
    assert upper["wave2"] > 1.3 * lower["wave2"]
    assert min(hands["wave1"], hands["wave2"]) > 0.02
    assert hands["pjump"] < 0.005
