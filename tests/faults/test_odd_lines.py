"""A short run of `odd_lines.py`."""

from tests.faults.odd_lines import PREPARATIONS, run
from tests.faults.sample_files import write_sample_files


def test_no_odd_line_is_lost_between_a_slow_writer_and_a_slow_reader(tmp_path):
    run(write_sample_files(tmp_path), 200, PREPARATIONS[:1])
