"""The Intel lab's sensors, from both files."""

import gzip

import numpy as np
import pytest
from scipy.io import savemat

from tenvec.datasets import load_intel_lab

QUANTITIES = ["temperature", "humidity", "light", "voltage"]


def binned():
    """Readings in sensor.mat's form: sensor + quantity / 10 + time / 10000, some missing."""
    sensor, quantity, time = np.ogrid[1:53, 0:4, 0:2994]
    T = sensor + quantity / 10 + time / 10_000
    T[:, :, 5] = 0
    T[3, :, :2] = 0
    T[4, 2, 7] = 0  # dark, not missing
    return T


def write_binned(home, T, name="T"):
    (home / "berkeley").mkdir(exist_ok=True)
    savemat(home / "berkeley" / "sensor.mat", {name: T}, do_compression=True)


LOG = """\
2004-02-28 00:59:16.02785 3 1 20.0 40.0 45.08 2.7
2004-02-28 00:59:46.02785 4 1 22.0 41.0  2.6
2004-02-28 01:00:16 5 1 30.0 42.0 10.0 2.5
2004-02-28 01:35:00.5 70 1 10.0 43.0 20.0 2.4
2004-02-28 01:01:00 5 2 21.0 50.0 0 2.65
2004-02-28 01:05:00 13 5    2.64
2004-02-28 01:05:30 13 54 25.0 30.0 99.0 2.63
2004-02-28 01:06:00 13 55 25.0 30.0 99.0 2.63
2004-02-28 01:06:31 14 3 25.0
2004-02-28 01:06:31 14
2004-02-28 01:07:01 14 3 25.0 abc 99.0 2.63
2004-13-28 01:07:01 14 3 25.0 1.0 99.0 2.63
2009-02-28 01:07:01 14 3 25.0 1.0 99.0 2.63

2004-02-28 01:08:01 16\t3 19.5\t35.0 80.0 2.7
2004-02-28 01:09:01 18 3 19.5 35.
"""
N_SKIPPED = 7
ENOUGH = "".join(
    f"2004-02-28 01:{minute:02}:30 99 54 25.0 30.0 99.0 2.63\n" for minute in range(10, 16)
)


def write_log(home, text=LOG + ENOUGH):
    (home / "berkeley").mkdir(exist_ok=True)
    (home / "berkeley" / "data.txt").write_text(text, encoding="ascii")


def test_binned_sensors_are_time_by_quantity(tmp_path):
    T = binned()
    write_binned(tmp_path, T)
    sensors = load_intel_lab(tmp_path, exclude=None)
    assert sensors.data.shape == (52, 2994, 4)
    assert sensors.feature_names.tolist() == QUANTITIES
    assert np.isnan(sensors.data[:, 5]).all()
    assert np.isnan(sensors.data[3, :2]).all()
    assert sensors.data[4, 7, 2] == 0  # one zero among four is a reading
    assert np.isnan(sensors.data).sum() == 4 * (52 + 2)
    np.testing.assert_array_equal(sensors.missing, np.isnan(sensors.data))
    read = ~sensors.missing
    np.testing.assert_array_equal(sensors.data[read], T.transpose(0, 2, 1)[read])
    assert sensors.time is None
    assert sensors.n_skipped_lines == 0
    assert "Bodik" in sensors.DESCR


def test_failing_sensors_are_left_out_unless_others_are_named(tmp_path):
    write_binned(tmp_path, binned())
    sensors = load_intel_lab(tmp_path)
    assert sensors.failing.tolist() == [13, 16]
    assert sensors.data.shape == (50, 2994, 4)
    assert sensors.sensor.tolist() == [row for row in range(52) if row not in (13, 16)]
    assert sensors.data[13, 0, 0] == 15  # row 14, whose readings begin with its number from 1
    assert load_intel_lab(tmp_path, exclude=[0, 51]).sensor.tolist() == list(range(1, 51))
    with pytest.raises(ValueError, match=r"exclude names \[52\].*they are 0 to 51"):
        load_intel_lab(tmp_path, exclude=[1, 52])
    with pytest.raises(ValueError, match='exclude must be "failing"'):
        load_intel_lab(tmp_path, exclude="bad")


def test_gaps_are_filled_linearly_and_the_ends_by_the_nearest_reading(tmp_path):
    write_binned(tmp_path, binned())
    sensors = load_intel_lab(tmp_path, exclude=None, interpolate=True, n_steps=8)
    assert sensors.data.shape == (52, 8, 4)
    assert not np.isnan(sensors.data).any()
    np.testing.assert_allclose(sensors.data[0, :, 0], 1 + np.arange(8) / 10_000)
    np.testing.assert_allclose(sensors.data[3, :3, 1], 4.1002)
    assert sensors.missing[:, 5].all()


def test_a_sensor_without_a_reading_cannot_be_filled(tmp_path):
    T = binned()
    T[20, :, :10] = 0
    write_binned(tmp_path, T)
    with pytest.raises(ValueError, match="sensor 20 has no reading of temperature in these 10"):
        load_intel_lab(tmp_path, interpolate=True, n_steps=10)


def test_the_log_is_averaged_over_steps(tmp_path):
    write_log(tmp_path)
    sensors = load_intel_lab(tmp_path, exclude=None, step_minutes=10)
    assert sensors.data.shape == (54, 5, 4)  # 00:50 to 01:40
    assert sensors.sensor.tolist() == list(range(1, 55))
    assert sensors.time[0] == np.datetime64("2004-02-28T00:50")
    assert sensors.time[-1] == np.datetime64("2004-02-28T01:30")
    first = sensors.data[0]
    np.testing.assert_allclose(first[0], [21, 40.5, 45.08, 2.65])  # the empty light is left out
    np.testing.assert_allclose(first[1], [30, 42, 10, 2.5])
    assert np.isnan(first[2:4]).all()
    np.testing.assert_allclose(first[4], [10, 43, 20, 2.4])
    assert sensors.data[1, 1, 2] == 0  # darkness is a reading
    mote_5 = sensors.data[4, 1]
    assert np.isnan(mote_5[:3]).all()
    assert mote_5[3] == 2.64
    np.testing.assert_allclose(sensors.data[2, 1], [19.5, 35, 80, 2.7])  # any blank separates
    assert sensors.n_skipped_lines == N_SKIPPED
    np.testing.assert_array_equal(sensors.missing, np.isnan(sensors.data))


def test_motes_known_to_fail_are_left_out_of_the_log(tmp_path):
    write_log(tmp_path)
    sensors = load_intel_lab(tmp_path)
    assert sensors.failing.tolist() == [5, 15, 18, 28]
    assert sensors.data.shape[0] == 50
    assert not set(sensors.sensor) & {5, 15, 18, 28}


@pytest.mark.parametrize(("step_minutes", "n_steps"), [(0.5, 73), (1, 37), (30, 3), (1440, 1)])
def test_the_step_is_chosen(tmp_path, step_minutes, n_steps):
    write_log(tmp_path)
    sensors = load_intel_lab(tmp_path, step_minutes=step_minutes)
    assert sensors.data.shape[1] == len(sensors.time) == n_steps
    assert (np.diff(sensors.time) == np.timedelta64(int(60 * step_minutes), "s")).all()


def test_the_mean_over_all_steps_keeps_every_reading(tmp_path):
    rng = np.random.default_rng(0)
    readings = rng.normal(20, 3, size=(300, 4)).round(4)
    motes = rng.integers(1, 4, size=300)
    lines = [
        f"2004-03-01 {minute // 60:02}:{minute % 60:02}:00.5 {minute} {mote} "
        + " ".join(map(str, row))
        for minute, (mote, row) in enumerate(zip(motes, readings, strict=True))
    ]
    write_log(tmp_path, "\n".join(lines))
    day = load_intel_lab(tmp_path, step_minutes=1440)
    for mote in (1, 2, 3):
        np.testing.assert_allclose(day.data[mote - 1, 0], readings[motes == mote].mean(axis=0))
    minutes = load_intel_lab(tmp_path, step_minutes=1, n_steps=300, exclude=None)
    np.testing.assert_array_equal(minutes.data[motes - 1, np.arange(300)], readings)


def test_the_packed_log_is_read_alike(tmp_path):
    write_log(tmp_path)
    plain = load_intel_lab(tmp_path)
    path = tmp_path / "berkeley" / "data.txt"
    packed = tmp_path / "packed" / "data.txt.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(load_intel_lab(packed.parent).data, plain.data)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"data\.txt\.gz .* cannot be unpacked"):
        load_intel_lab(packed.parent)
    packed.write_bytes(b"not gzip")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        load_intel_lab(packed.parent)


def test_the_file_to_read_is_chosen(tmp_path):
    write_binned(tmp_path, binned())
    write_log(tmp_path)
    assert load_intel_lab(tmp_path).time is None
    assert load_intel_lab(tmp_path, source="data.txt").time is not None
    assert load_intel_lab(tmp_path, source="sensor.mat").data.shape[1] == 2994
    with pytest.raises(ValueError, match="source must be"):
        load_intel_lab(tmp_path, source="data.csv")


def test_as_a_pair_the_target_is_the_sensors_number(tmp_path):
    write_log(tmp_path)
    X, y = load_intel_lab(tmp_path, exclude=None, return_X_y=True)
    assert X.shape == (54, 5, 4)
    assert y.tolist() == list(range(1, 55))


def test_missing_files_are_named_with_where_they_are_had_and_where_they_go(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"db\.csail\.mit\.edu") as failure:
        load_intel_lab(tmp_path)
    for name in ("sensor.mat", "data.txt", "data.txt.gz"):
        assert str(tmp_path / "berkeley" / name) in str(failure.value)
    with pytest.raises(FileNotFoundError) as failure:
        load_intel_lab(tmp_path, source="data.txt")
    assert f"put it at {tmp_path / 'berkeley' / 'data.txt'}" in str(failure.value)
    with pytest.raises(FileNotFoundError, match="TENVEC_DATA"):
        load_intel_lab()


def test_foreign_files_are_refused(tmp_path):
    write_binned(tmp_path, binned()[:, :, :100])
    with pytest.raises(ValueError, match=r"T has shape \(52, 4, 100\).*expected.*\(52, 4, 2994\)"):
        load_intel_lab(tmp_path)
    write_binned(tmp_path, binned(), name="X")
    with pytest.raises(ValueError, match=r"holds X \(52, 4, 2994\); expected T"):
        load_intel_lab(tmp_path)
    write_binned(tmp_path, binned())
    path = tmp_path / "berkeley" / "sensor.mat"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match="truncated"):
        load_intel_lab(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "a,b,c\n1,2,3\n", "x" * 100_000, LOG.splitlines()[0] + "\n" + "cut short\n" * 5],
)
def test_a_text_that_is_not_the_log_is_refused(tmp_path, text):
    write_log(tmp_path, text)
    with pytest.raises(ValueError, match="expected lines of 'date time epoch moteid"):
        load_intel_lab(tmp_path)


@pytest.mark.parametrize("wrong", [0, 0.1, -10, 2000, float("nan")])
def test_steps_out_of_range_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="step_minutes must be between"):
        load_intel_lab(tmp_path, step_minutes=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 1.5])
def test_numbers_of_steps_out_of_range_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="n_steps must be"):
        load_intel_lab(tmp_path, n_steps=wrong)


@pytest.mark.real_data
def test_real_sensors(real_data):
    home = real_data("berkeley/sensor.mat")
    sensors = load_intel_lab(home, source="sensor.mat", exclude=None)
    assert sensors.data.shape == (52, 2994, 4)
    assert sensors.missing.mean() == pytest.approx(0.175, abs=0.001)
    assert sensors.missing[:, :1350].mean() == pytest.approx(0.041, abs=0.001)
    filled = load_intel_lab(home, source="sensor.mat", n_steps=1350, interpolate=True)
    assert filled.data.shape == (50, 1350, 4)
    assert not np.isnan(filled.data).any()
    low, high = np.percentile(filled.data, [1, 99], axis=(0, 1))
    assert (low >= [10, 10, 0, 2]).all()  # degrees Celsius, per cent, lux, volts
    assert (high <= [40, 70, 2000, 3]).all()
