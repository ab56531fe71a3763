/**
 * Stands for `node-gyp-build` in the bundle: has the launcher load LevelDB's binding (`loadBinding` is what it hands in). The
 * bundle run by itself, without a launcher, has the file in its own folder.
 */
const path = require('node:path')

module.exports = (folder) => {
  if (typeof loadBinding === 'function') return loadBinding()
  const loaded = { exports: {} }
  const name = `classic-level-${process.platform}-${process.arch}.node`
  process.dlopen(loaded, path.join(folder, name))
  return loaded.exports
}
