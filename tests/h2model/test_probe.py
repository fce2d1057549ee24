"""The BDP probe of a gRPC receiver: its PINGs' times, and its estimates."""

from itertools import repeat

import pytest

from h2model.probe import ADDED_NS, Probe, Smoothed, growths_ms

MEAN = growths_ms(())


class TestProbe:
    def complete(self, probe, size, took_ns, now=0.0):
        probe.received(1, now)
        probe.received(size, now)
        return probe.complete(now + took_ns) - (now + took_ns)

    def test_growth_halves_the_time_between_two_questions(self):
        probe = Probe(MEAN)
        assert self.complete(probe, 100_000, 8e6) == 50e6
        assert probe.estimate_bytes == 2 * Probe.FIRST_ESTIMATE_BYTES

    def test_the_time_is_halved_in_whole_milliseconds(self):
        """Seen in the log of 1.85.1: 50, 25, 12, 6 ms."""
        probe, found = Probe(MEAN), []
        for n in range(4):
            found.append(self.complete(probe, 10 ** (6 + n), 8e6, now=1e9 * n))
            probe.due(1e9 * n + 5e8)
        assert found == [50e6, 25e6, 12e6, 6e6]

    def test_without_more_bandwidth_the_estimate_stays_and_the_time_grows(self):
        probe = Probe(MEAN)
        self.complete(probe, 100_000, 8e6)
        assert probe.due(1e8) is False
        assert self.complete(probe, 200_000, 16e6 + 100, now=1e8) == 50e6
        grown = self.complete(probe, 200_000, 17e6, now=2e8)
        assert grown == 50e6 + Probe.MEAN_GROWTH_MS * 1e6
        assert probe.estimate_bytes == 2 * Probe.FIRST_ESTIMATE_BYTES

    def test_what_the_library_logged_it_grew_by_comes_first(self):
        logged = [50, 25, 172, 297]
        probe = Probe(growths_ms(logged), ADDED_NS)
        found = []
        for n, size in enumerate((10**6, 10**7, *repeat(1, 6))):
            found.append(self.complete(probe, size, 8e6, now=1e9 * n))
            probe.due(1e9 * n + 5e8)
        seen = [50, 25, 25, 172, 172, 297, 297, 297 + Probe.MEAN_GROWTH_MS]
        assert found == pytest.approx([ms * 1e6 + ADDED_NS for ms in seen])

    def test_growth_is_what_a_delay_is_longer_than_the_one_before(self):
        assert list(growths_ms([50, 199, 99, 205])) == [149, 106]
        assert list(growths_ms([220, 110])) == [120]


class TestSmoothed:
    def test_the_windows_that_1_39_announced(self):
        """Seen on the wire: 1.39.0, two messages of 4 and 1 MB between a PING and its answer."""
        window = Smoothed()
        steps = [window.step(2 * 5_000_010) for _ in range(4)]
        assert steps[1] == 7_388_142
        assert steps[2] == 10_096_474

    def test_it_settles_at_its_target(self):
        window = Smoothed()
        last = [window.step(size) for size in repeat(10_000_000, 300)][-1]
        assert abs(last - 10_000_000) < 1000

    def test_it_never_falls_below_4_mib_at_rest(self):
        window = Smoothed()
        assert [window.step(1000) for _ in range(5)] == [4 << 20] * 5
