"""One job on an engine, with as many cores as this process may use. Prints the number of images that it made.

    cluster_job.py spark|ray|client inflight|img2dataset LIST OUTPUT WIDTH QUALITY AT_ONCE

`client` only iterates over the results of `inflight.fetch`.
"""

import os
import pathlib
import sys

SHARD = 1000


def inflight_job(engine, listed, output, options, cores):
    options |= {"format": "jpeg", "allow_private": True, "ignore_robots": True}
    if engine == "client":
        import inflight

        with open(listed, encoding="utf-8") as lines:
            results = inflight.fetch((line.strip() for line in lines), **options)
            return sum(result.status == "success" for result in results)
    if engine == "spark":
        import pyspark.sql
        from inflight.spark import write_dataset

        rows = pyspark.sql.SparkSession.getActiveSession().read.text(listed).withColumnRenamed("value", "url")
    else:
        import ray
        from inflight.ray import write_dataset

        rows = ray.data.read_text(listed).rename_columns({"text": "url"})
    return write_dataset(rows, output, partitions=4 * cores, shard_size=SHARD, **options).successes


def img2dataset_job(engine, listed, output, width, quality, at_once, cores):
    import json

    from img2dataset import download

    download(
        url_list=listed, output_folder=output, image_size=width, resize_mode="keep_ratio_largest",
        resize_only_if_bigger=True, encode_quality=quality, thread_count=at_once, processes_count=cores,
        number_sample_per_shard=SHARD, output_format="webdataset",
        distributor="pyspark" if engine == "spark" else "ray")
    return sum(json.loads(path.read_text())["successes"] for path in pathlib.Path(output).glob("*_stats.json"))


def main():
    engine, side, listed, output, *numbers = sys.argv[1:]
    width, quality, at_once = map(int, numbers)
    cores = len(os.sched_getaffinity(0))
    if engine == "spark":
        from pyspark.sql import SparkSession

        # img2dataset uses the session that exists; its own would ask for 16 GB.
        session = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
        session.config("spark.driver.memory", "2g").config("spark.log.level", "ERROR").getOrCreate()
    elif engine == "ray":
        import ray

        ray.init("local", num_cpus=cores, object_store_memory=500 << 20, logging_level="error", log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
    if side == "inflight":
        options = {"size": f"{width}x", "quality": quality, "per_host": 2 * at_once, "concurrency": 2 * at_once}
        count = inflight_job(engine, listed, output, options, cores)
    else:
        count = img2dataset_job(engine, listed, output, width, quality, at_once, cores)
    if engine == "spark":
        SparkSession.getActiveSession().stop()
    elif engine == "ray":
        ray.shutdown()
    print(f"images={count}")


if __name__ == "__main__":
    main()
