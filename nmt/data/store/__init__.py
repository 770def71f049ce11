"""Prepared text on the disk: made by stages, shard by shard, and read again."""
