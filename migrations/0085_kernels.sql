-- The instruction set that an item's kernels use on a processor, and that of a worker's processor; NULL means any, and none that has a name.
ALTER TABLE work ADD COLUMN kernels text;
ALTER TABLE workers ADD COLUMN kernels text;
