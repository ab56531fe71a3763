/**
 * Node's thread pool, imported first of all: its size is read once, when the first file is touched.
 *
 * The log's sync, LevelDB's batches, scans and flushes, and compression share it; with the default of 4 a flush or two
 * long scans would stand in front of a sync that a client waits for.
 */
process.env['UV_THREADPOOL_SIZE'] ??= '16'
