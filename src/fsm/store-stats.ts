/** What LevelDB tells of itself: a table made for people, read back into numbers. */

export type StoreLevel = {
  readonly level: number
  readonly files: number
  /** To the MiB, as LevelDB prints it; so are the other bytes. */
  readonly bytes: number
  readonly compactionSeconds: number
  readonly readBytes: number
  readonly writtenBytes: number
}

export type StoreStats = {
  /** Those that hold files or have been compacted. */
  readonly levels: readonly StoreLevel[]
  /** Memory tables and cached blocks. */
  readonly memoryBytes: number
  /** Written since the last flush of the memory table. */
  readonly unflushedBytes: number
}

const MiB = 2 ** 20

/** The property `leveldb.stats`: below a head, a line of six numbers for each level. */
export function parseLevels(text: string): readonly StoreLevel[] {
  return text.split('\n').flatMap((line) => {
    const words = line.trim().split(/\s+/)
    const numbers = words.map(Number)
    if (words.length !== 6 || !numbers.every(Number.isFinite)) return []
    const [level = 0, files = 0, size = 0, compactionSeconds = 0, read = 0, written = 0] = numbers
    return [
      {
        level,
        files,
        bytes: size * MiB,
        compactionSeconds,
        readBytes: read * MiB,
        writtenBytes: written * MiB,
      },
    ]
  })
}
