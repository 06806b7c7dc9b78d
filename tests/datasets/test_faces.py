"""The three face data sets: Extended Yale B, AR, FERET."""

import numpy as np
import pytest
from scipy.io import savemat

from tenvec.datasets import load_ar, load_extended_yale_b, load_feret

YALE_COUNTS = [64] * 31 + [62, 61, 60, 60, 60, 63, 64]


def load_all_of_ar(home=None):
    return load_ar(home, subset="all")


def portrait(height: int, width: int) -> np.ndarray:
    """A picture that no flip or transposition leaves alone: each pixel's value is its place."""
    return (np.arange(height * width) % 251).astype(np.uint8).reshape(height, width)


def write_rows(path, counts, size=32):
    """Write a file of images in rows, column after column; pixel (0, 0) counts the images."""
    n_images = sum(counts)
    image = portrait(size, size)
    fea = np.tile(image.ravel(order="F"), (n_images, 1))
    fea[:, 0] = np.arange(n_images) % 251
    gnd = np.repeat(np.arange(1, len(counts) + 1, dtype=np.uint8), counts)[:, None]
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"fea": fea, "gnd": gnd})
    return image


def write_stack(path, counts, height=60, width=43):
    """Write a file of images as a stack whose last axis counts them."""
    n_images = sum(counts)
    image = portrait(height, width)
    x = np.repeat(image[:, :, None], n_images, axis=2)
    x[0, 0] = np.arange(n_images) % 251
    label = np.repeat(np.arange(1, len(counts) + 1, dtype=np.uint8), counts)[:, None]
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"x": x, "label": label})
    return image


def assert_upright_and_in_order(data, image):
    assert data.dtype == np.float64
    assert data.flags.c_contiguous
    np.testing.assert_array_equal(data[:, 0, 0], np.arange(len(data)) % 251)
    np.testing.assert_array_equal(data[-1].ravel()[1:], image.ravel()[1:])


def test_yale_images_are_upright_and_sorted_by_person(tmp_path):
    image = write_rows(tmp_path / "extended_yale_b" / "YaleB_32x32.mat", YALE_COUNTS)
    faces = load_extended_yale_b(tmp_path)
    assert faces.data.shape == (2414, 32, 32)
    assert_upright_and_in_order(faces.data, image)
    assert np.bincount(faces.target).tolist() == YALE_COUNTS
    assert faces.target_names[faces.target[-1]] == "38"
    assert faces.position[:65].tolist() == [*range(64), 0]
    assert "Georghiades" in faces.DESCR
    assert "Terms" in faces.DESCR


def test_yale_as_a_pair(tmp_path):
    write_rows(tmp_path / "extended_yale_b" / "YaleB_32x32.mat", YALE_COUNTS)
    faces = load_extended_yale_b(tmp_path)
    X, y = load_extended_yale_b(tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, faces.data)
    np.testing.assert_array_equal(y, faces.target)


def test_the_file_may_lie_in_the_named_folder_itself(tmp_path):
    write_rows(tmp_path / "YaleB_32x32.mat", YALE_COUNTS)
    assert load_extended_yale_b(tmp_path).data.shape == (2414, 32, 32)
    assert load_extended_yale_b(str(tmp_path)).data.shape == (2414, 32, 32)


def test_the_environment_variable_names_the_folder(tmp_path, monkeypatch):
    write_rows(tmp_path / "feret" / "FERET_32x32.mat", [7] * 200)
    monkeypatch.setenv("TENVEC_DATA", str(tmp_path))
    assert load_feret().data.shape == (1400, 32, 32)
    with pytest.raises(FileNotFoundError, match="elsewhere"):  # the argument goes first
        load_feret(tmp_path / "elsewhere")


def test_feret_positions_split_five_from_two(tmp_path):
    image = write_rows(tmp_path / "feret" / "FERET_32x32.mat", [7] * 200)
    faces = load_feret(tmp_path)
    assert_upright_and_in_order(faces.data, image)
    assert faces.position[:8].tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
    assert (np.bincount(faces.target[faces.position < 5]) == 5).all()
    assert faces.target[-1] == 199
    X, y = load_feret(tmp_path, return_X_y=True)
    assert X.shape == (1400, 32, 32)
    assert y.shape == (1400,)


def test_ar_without_occlusion_splits_by_session(tmp_path):
    image = write_stack(tmp_path / "ar" / "AR_II.mat", [14] * 99)
    faces = load_ar(tmp_path)
    assert faces.data.shape == (1386, 60, 43)
    assert_upright_and_in_order(faces.data, image)
    np.testing.assert_array_equal(faces.session == 0, faces.position < 7)
    assert faces.position[:15].tolist() == [*range(14), 0]
    assert faces.condition_names[faces.condition[8]] == "smile"
    assert not faces.occluded.any()
    assert len(faces.condition_names) == 7


def test_ar_with_occlusion_says_which_images_are_occluded(tmp_path):
    image = write_rows(tmp_path / "ar" / "AR_100.mat", [26] * 100)
    faces = load_ar(tmp_path, subset="all")
    assert faces.data.shape == (2600, 32, 32)
    assert_upright_and_in_order(faces.data, image)
    # The published numbering, from 1: 8 to 13 and 21 to 26 wear sunglasses or a scarf.
    occluded = [place + 1 for place in range(26) if faces.occluded[place]]
    assert occluded == [8, 9, 10, 11, 12, 13, 21, 22, 23, 24, 25, 26]
    assert faces.condition_names[faces.condition[23]] == "scarf"
    assert faces.session[12:14].tolist() == [0, 1]
    X, y = load_ar(tmp_path, subset="all", return_X_y=True)
    assert X.shape == (2600, 32, 32)
    assert y[-1] == 99


def test_ar_refuses_an_unknown_subset(tmp_path):
    with pytest.raises(ValueError, match=r'subset must be "unoccluded" or "all"; got \'half\''):
        load_ar(tmp_path, subset="half")


@pytest.mark.parametrize(
    ("load", "place", "published"),
    [
        (load_extended_yale_b, "extended_yale_b/YaleB_32x32.mat", "dengcai"),
        (load_feret, "feret/FERET_32x32.mat", "nist.gov"),
        (load_ar, "ar/AR_II.mat", "ARdatabase.html"),
        (load_all_of_ar, "ar/AR_100.mat", "ARdatabase.html"),
    ],
)
def test_a_missing_file_is_named_with_where_it_is_had_and_where_it_goes(
    tmp_path, load, place, published
):
    with pytest.raises(FileNotFoundError) as failure:
        load(tmp_path)
    message = str(failure.value)
    folder, name = place.split("/")
    assert f"looked for {tmp_path / folder / name} or {tmp_path / name}" in message
    assert published in message
    assert f"put it at {tmp_path / folder / name}" in message
    assert "downloads nothing" in message

    with pytest.raises(FileNotFoundError, match="TENVEC_DATA") as failure:
        load()
    assert published in str(failure.value)
    assert name in str(failure.value)


def test_an_empty_environment_variable_names_nothing(monkeypatch):
    monkeypatch.setenv("TENVEC_DATA", "")
    with pytest.raises(FileNotFoundError, match="no folder of data sets is named"):
        load_feret()


def test_a_folder_that_is_not_there_or_no_folder_is_said_to_be_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_feret(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        load_feret(tmp_path / "file")


@pytest.mark.parametrize("keep", [0, 1, 100, 129, 5000, -1, -500])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = tmp_path / "feret" / "FERET_32x32.mat"
    write_rows(path, [7] * 200)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"FERET.*FERET_32x32\.mat"):
        load_feret(tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "FERET_32x32.mat"
    path.write_bytes(b"<html>You must sign the agreement first.</html>" * 20)
    with pytest.raises(ValueError, match="cannot be read as a MATLAB file") as failure:
        load_feret(tmp_path)
    assert "940 bytes" in str(failure.value)
    assert "nist.gov" in str(failure.value)


def test_a_file_with_other_variables_is_refused(tmp_path):
    savemat(tmp_path / "FERET_32x32.mat", {"faces": np.ones((3, 4)), "gnd": np.ones((3, 1))})
    with pytest.raises(ValueError, match="expected fea and gnd") as failure:
        load_feret(tmp_path)
    assert "faces (3, 4), gnd (3, 1)" in str(failure.value)


def test_images_of_another_number_or_size_are_refused(tmp_path):
    write_rows(tmp_path / "FERET_32x32.mat", [7] * 199)
    with pytest.raises(ValueError, match=r"fea has shape \(1393, 1024\).*expected.*\(1400, 1024\)"):
        load_feret(tmp_path)
    write_rows(tmp_path / "FERET_32x32.mat", [7] * 200, size=16)
    with pytest.raises(ValueError, match=r"fea has shape \(1400, 256\)"):
        load_feret(tmp_path)


def test_labels_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "FERET_32x32.mat"
    write_rows(path, [7] * 198 + [8, 6])
    with pytest.raises(ValueError, match=r"with 6 to 8 images each; expected .* 7 images each"):
        load_feret(tmp_path)
    savemat(path, {"fea": np.zeros((1400, 1024)), "gnd": np.array([["a"] * 1400]).T})
    with pytest.raises(ValueError, match=r"gnd has shape .* expected numbers"):
        load_feret(tmp_path)
    shuffled = np.tile(np.arange(1, 201), 7)[:, None]
    savemat(path, {"fea": np.zeros((1400, 1024)), "gnd": shuffled})
    with pytest.raises(ValueError, match="in rising order"):
        load_feret(tmp_path)


def test_values_that_are_no_numbers_are_refused(tmp_path):
    fea = np.zeros((1400, 1024))
    fea[3, 4] = np.nan
    gnd = np.repeat(np.arange(1, 201), 7)[:, None]
    savemat(tmp_path / "FERET_32x32.mat", {"fea": fea, "gnd": gnd})
    with pytest.raises(ValueError, match="not finite"):
        load_feret(tmp_path)


def symmetries(images):
    """Correlate the mean face with its mirror image, and with itself upside down."""
    mean = images.mean(axis=0)
    mean = mean - mean.mean()
    norm = (mean**2).sum()
    return (mean * mean[:, ::-1]).sum() / norm, (mean * mean[::-1]).sum() / norm


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "load", "shape", "people"),
    [
        ("extended_yale_b/YaleB_32x32.mat", load_extended_yale_b, (2414, 32, 32), 38),
        ("feret/FERET_32x32.mat", load_feret, (1400, 32, 32), 200),
        ("ar/AR_II.mat", load_ar, (1386, 60, 43), 99),
        ("ar/AR_100.mat", load_all_of_ar, (2600, 32, 32), 100),
    ],
)
def test_real_faces_are_upright(real_data, name, load, shape, people):
    faces = load(real_data(name))
    assert faces.data.shape == shape
    assert 0 <= faces.data.min() < faces.data.max() <= 255
    assert len(np.unique(faces.target)) == people
    mirrored, upside_down = symmetries(faces.data)
    assert mirrored > upside_down + 0.2  # a face that lies on its side has it the other way round

    # The bridge of the nose is brighter than the eyes beside it; nothing below is so much.
    mean = faces.data.mean(axis=0)
    across = [columns.mean(axis=1) for columns in np.array_split(mean, 9, axis=1)]
    bridge = across[4] - (across[2] + across[6]) / 2
    upper, lower = np.array_split(bridge, 2)
    assert upper.max() > 1.3 * lower.max()


@pytest.mark.real_data
def test_real_faces_are_in_the_order_that_is_said(real_data):
    feret = load_feret(real_data("feret/FERET_32x32.mat"))
    by_position = [feret.data[feret.position == place].mean() for place in range(7)]
    assert np.argmin(by_position) == 6  # the dark one
    ar = load_ar(real_data("ar/AR_100.mat"), subset="all")
    eyes = ar.data[:, 8:13, 6:26].mean(axis=(1, 2))
    mouth = ar.data[:, 22:28, 6:26].mean(axis=(1, 2))
    neutral, sunglasses, scarf = (ar.condition == condition for condition in (0, 7, 10))
    assert np.median(eyes[sunglasses]) < 0.8 * np.median(eyes[neutral])
    assert np.median(mouth[scarf]) < 0.8 * np.median(mouth[neutral])
