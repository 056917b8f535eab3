"""The partition of a URL keeps each host, or each share of a hot host, in one place."""

import collections
import unittest

from inflight.hosts import HostPlan, host


class Hosts(unittest.TestCase):
    def test_the_host_of_a_url(self):
        for url, name in [("https://A.example:8080/x", "a.example"), (" http://a.example./", "a.example"),
                          ("http://[::1]:80/", "::1"), ("http://[::1", ""), ("not a url", ""), ("", ""), (None, "")]:
            self.assertEqual(host(url), name, url)

    def test_a_host_has_one_partition(self):
        plan = HostPlan(16)
        for name in range(100):
            self.assertEqual(len({plan.partition(f"http://h{name}/{page}") for page in range(20)}), 1)
        used = collections.Counter(plan.partition(f"http://h{name}/") for name in range(1000))
        self.assertEqual(set(used), set(range(16)))

    def test_rows_without_a_host_are_spread(self):
        plan = HostPlan(8)
        self.assertEqual({plan.partition(f"bad {n}") for n in range(100)}, set(range(8)))
        self.assertIn(plan.partition(None), range(8))

    def test_shares_of_a_hot_host_have_partitions_of_their_own_and_parts_of_the_limit(self):
        plan = HostPlan.balanced(10, 5, 1000, {"hot": 700, "warm": 100})
        self.assertEqual(plan.shares, {"hot": (0, 5)})
        shares = {plan.partition(f"http://hot/{n}") for n in range(100)}
        self.assertEqual(shares, {0, 1, 2, 3, 4})
        others = {plan.partition(f"http://h{n}/") for n in range(200)}
        self.assertEqual(others, {5, 6, 7, 8, 9})
        self.assertEqual([plan.limit(n) for n in range(6)], [1, 1, 1, 1, 1, 5])

    def test_shares_add_up_to_the_limit(self):
        for per_host in range(1, 12):
            for partitions in range(1, 9):
                plan = HostPlan.balanced(partitions, per_host, 100, {"a": 50, "b": 30, "c": 20})
                for first, number in plan.shares.values():
                    limits = [plan.limit(n) for n in range(first, first + number)]
                    self.assertEqual(sum(limits), per_host)
                    self.assertGreater(min(limits), 0)
                self.assertLess(plan.partition("http://other/"), partitions)
                self.assertGreaterEqual(plan.partition("http://other/"), sum(n for _, n in plan.shares.values()))


if __name__ == "__main__":
    unittest.main()
