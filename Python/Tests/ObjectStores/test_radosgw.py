"""Datasets in radosgw: the contract of stores, many races of two drivers, and many kills of a run that uploads."""

import os
import unittest

import uploads
from contract import Contract
from stores import RadosGW

RACES = int(os.environ.get("RACES", "200"))


class OnRadosGW(Contract, unittest.TestCase):
    scheme = "s3"

    @classmethod
    def setUpClass(cls):
        cls.store = cls.enterClassContext(RadosGW())
        cls.store.make_bucket()

    def test_races_of_two_drivers(self):
        root = self.out
        for number in range(RACES):
            self.out = f"{root}/{number}"
            self.race(("night", "night" if number % 2 else "day"), at_once=True)


class Kills(uploads.Kills):
    store_class = RadosGW


if __name__ == "__main__":
    unittest.main()
