/** Stands for `msgpackr-extract` in the bundle: msgpackr does without, and rows as short as ours are not slower for it. */
module.exports = null
