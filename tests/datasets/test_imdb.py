"""The IMDB reviews, from archives and folders written here."""

import io
import tarfile

import numpy as np
import pytest

from tenvec.datasets import imdb, load_imdb


@pytest.fixture(autouse=True)
def few_reviews_a_class(monkeypatch):
    monkeypatch.setattr(imdb, "REVIEWS_A_CLASS", 3)


def contents():
    """Three reviews in each of the four folders, named as published, and the files beside them."""
    files = {"aclImdb/README": b"about", "aclImdb/train/urls_pos.txt": b"http://"}
    for split in ("train", "test"):
        for label, stars in (("neg", (1, 4, 2)), ("pos", (10, 7, 8))):
            for number, rating in zip((0, 2, 10), stars, strict=True):
                name = f"aclImdb/{split}/{label}/{number}_{rating}.txt"
                files[name] = f"{split} {label} {number}: déjà vu<br />".encode()
        files[f"aclImdb/{split}/unsup/7_0.txt"] = b"unlabelled"
    return files


def write_archive(path, files, extra=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in extra:
            archive.addfile(member)


def write_folder(home, files):
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)


@pytest.mark.parametrize("name", ["aclImdb_v1.tar.gz", "aclImdb_labelled.tar.gz"])
@pytest.mark.parametrize("folder", ["imdb", "."])
def test_the_archive_is_read_where_it_lies(tmp_path, folder, name):
    write_archive(tmp_path / folder / name, contents())
    reviews = load_imdb(tmp_path)
    assert reviews.data.shape == reviews.target.shape == (12,)
    assert reviews.data[0] == "train neg 0: déjà vu<br />"
    assert reviews.data[-1] == "test pos 10: déjà vu<br />"
    assert reviews.target.tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert reviews.split.tolist() == ["train"] * 6 + ["test"] * 6
    assert reviews.rating[:6].tolist() == [1, 4, 2, 10, 7, 8]
    assert reviews.number[:3].tolist() == [0, 2, 10]
    assert reviews.target_names.tolist() == ["neg", "pos"]
    assert "Maas" in reviews.DESCR
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [name]  # none unpacked


@pytest.mark.parametrize("place", ["imdb", "."])
def test_folder_and_archive_are_read_alike(tmp_path, place):
    write_archive(tmp_path / "a" / "aclImdb_v1.tar.gz", contents())
    write_folder(tmp_path / "b" / place, contents())
    archive, folder = load_imdb(tmp_path / "a"), load_imdb(tmp_path / "b")
    assert archive.data.tolist() == folder.data.tolist()
    np.testing.assert_array_equal(archive.rating, folder.rating)
    inside = load_imdb(tmp_path / "b" / place / "aclImdb")
    assert inside.data.tolist() == folder.data.tolist()


def test_the_order_in_the_archive_does_not_matter(tmp_path):
    write_archive(tmp_path / "a" / "aclImdb_v1.tar.gz", contents())
    write_archive(tmp_path / "b" / "aclImdb_v1.tar.gz", dict(reversed(contents().items())))
    assert load_imdb(tmp_path / "a").data.tolist() == load_imdb(tmp_path / "b").data.tolist()


def test_a_subset_and_a_pair(tmp_path):
    write_archive(tmp_path / "imdb" / "aclImdb_v1.tar.gz", contents())
    X, y = load_imdb(tmp_path, subset="test", return_X_y=True)
    assert all(text.startswith("test") for text in X)
    assert y.tolist() == [0, 0, 0, 1, 1, 1]
    assert set(load_imdb(tmp_path, subset="train").split) == {"train"}
    with pytest.raises(ValueError, match=r'subset must be "train", "test" or "all"'):
        load_imdb(tmp_path, subset="unsup")


def test_a_missing_archive_is_named_with_where_it_is_had_and_where_it_goes(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ai\.stanford\.edu") as failure:
        load_imdb(tmp_path)
    assert f"put it at {tmp_path / 'imdb' / 'aclImdb_v1.tar.gz'}" in str(failure.value)
    assert str(tmp_path / "imdb" / "aclImdb") in str(failure.value)
    with pytest.raises(FileNotFoundError, match="TENVEC_DATA"):
        load_imdb()


def test_a_truncated_archive_is_refused(tmp_path):
    path = tmp_path / "aclImdb_v1.tar.gz"
    write_archive(path, contents())
    whole = path.read_bytes()
    for keep in (0, 5, 100, len(whole) // 2, len(whole) - 20):
        path.write_bytes(whole[:keep])
        with pytest.raises(ValueError, match=r"cannot be read as a \.tar\.gz|reviews; expected"):
            load_imdb(tmp_path)
    path.write_bytes(b"<html>not an archive</html>")
    with pytest.raises(ValueError, match=r"27 bytes\) cannot be read as a \.tar\.gz"):
        load_imdb(tmp_path)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="Large Movie Review"):
        load_imdb(tmp_path)


def test_missing_reviews_are_counted(tmp_path):
    files = contents()
    del files["aclImdb/test/pos/2_7.txt"]
    write_archive(tmp_path / "a" / "aclImdb_v1.tar.gz", files)
    with pytest.raises(
        ValueError,
        match="3 in train/neg, 3 in train/pos, 3 in test/neg, 2 in test/pos reviews; expected 3",
    ):
        load_imdb(tmp_path / "a")
    write_folder(tmp_path / "b", {"aclImdb/train/neg/0_1.txt": b"", "aclImdb/test/x": b""})
    with pytest.raises(ValueError, match="1 in train/neg, 0 in train/pos"):
        load_imdb(tmp_path / "b")


def test_reviews_of_an_impossible_size_are_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(imdb, "LARGEST_REVIEW", 100)
    monkeypatch.setattr(imdb, "LARGEST_MEMBER", 1000)
    files = contents() | {"aclImdb/train/neg/0_1.txt": b"x" * 101}
    write_archive(tmp_path / "a" / "aclImdb_v1.tar.gz", files)
    with pytest.raises(ValueError, match=r"0_1\.txt' has 101 bytes; expected at most 100"):
        load_imdb(tmp_path / "a")
    write_folder(tmp_path / "b", files)
    with pytest.raises(ValueError, match=r"0_1\.txt has 101 bytes; expected at most 100"):
        load_imdb(tmp_path / "b")
    write_archive(tmp_path / "c" / "aclImdb_v1.tar.gz", contents() | {"huge": b"x" * 1001})
    with pytest.raises(ValueError, match="'huge' has 1001 bytes; expected at most 1000"):
        load_imdb(tmp_path / "c")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_in_the_archive_are_refused(tmp_path, kind):
    link = tarfile.TarInfo("aclImdb/train/neg/99_1.txt")
    link.type = kind
    link.linkname = "/etc/hostname"
    write_archive(tmp_path / "aclImdb_v1.tar.gz", contents(), [link])
    with pytest.raises(ValueError, match=r"99_1\.txt' is a link or a special file"):
        load_imdb(tmp_path)


def test_names_that_leave_the_folder_are_passed_over(tmp_path):
    files = contents() | {"../aclImdb/train/neg/5_1.txt": b"x", "/aclImdb/train/neg/5_1.txt": b"x"}
    write_archive(tmp_path / "aclImdb_v1.tar.gz", files)
    assert len(load_imdb(tmp_path).data) == 12


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    files = contents() | {"aclImdb/train/neg/0_1.txt": b"d\xe9j\xe0 vu"}
    write_archive(tmp_path / "aclImdb_v1.tar.gz", files)
    with pytest.raises(ValueError, match=r"0_1\.txt is not UTF-8 text .* at byte 1"):
        load_imdb(tmp_path)


@pytest.mark.real_data
def test_real_reviews(real_data, monkeypatch):
    monkeypatch.setattr(imdb, "REVIEWS_A_CLASS", 12_500)
    reviews = load_imdb(real_data("imdb/aclImdb_labelled.tar.gz"))
    assert reviews.data.shape == (50_000,)
    assert np.bincount(reviews.target).tolist() == [25_000, 25_000]
    assert reviews.rating[reviews.target == 0].max() == 4
    assert reviews.rating[reviews.target == 1].min() == 7
    n_words = np.array([len(text.split()) for text in reviews.data])
    of_paper = (n_words >= 180) & (n_words <= 220)
    counts = [(of_paper & (reviews.split == split)).sum() for split in ("train", "test")]
    assert counts == [2926, 3065]
