/** Snapshots to send, and where one is staged, in memory. */
import { createHash } from 'node:crypto'
import { MusterError } from '../../../src/lib/errors.ts'
import type { SnapshotSink, SnapshotSource } from '../../../src/raft/transport/transport.ts'

export const chunkBytes = 100_000
let snapshots = 0

type Source = SnapshotSource & { sha256: string; reading: number }

/** `count` chunks that compress well and differ from each other. */
export function sourceOf(count: number): Source {
  snapshots += 1
  const id = `snapshot ${snapshots}`
  const chunk = (number: number): Buffer => Buffer.alloc(chunkBytes, `${id} chunk ${number}, `)
  const hash = createHash('sha256')
  for (let number = 0; number < count; number += 1) hash.update(chunk(number))
  const configuration = { clusterId: 'c1', members: [] }
  const source = {
    meta: { index: 77, term: 3, configuration, configurationIndex: 1 },
    id,
    sha256: hash.digest('hex'),
    reading: 0,
    async *chunks(from: number) {
      source.reading += 1
      try {
        for (let number = from; number < count; number += 1) yield chunk(number)
      } finally {
        source.reading -= 1
      }
    },
    close: () => Promise.resolve(),
  }
  return source
}

/** Where a snapshot is staged, in memory; keeps what it holds within one id. */
export class Staging {
  id = ''
  chunks: Buffer[] = []
  offers = 0
  finished = ''
  failFinish = false
  writing = false
  beforeWrite: () => void | Promise<void> = () => {}

  open(id: string): SnapshotSink {
    this.offers += 1
    if (this.id !== id) this.chunks = []
    this.id = id
    return {
      received: this.chunks.length,
      write: async (chunk) => {
        this.writing = true
        await this.beforeWrite()
        this.chunks.push(Buffer.from(chunk))
      },
      finish: async (sha256) => {
        const hash = createHash('sha256')
        for (const chunk of this.chunks) hash.update(chunk)
        if (this.failFinish || hash.digest('hex') !== sha256) {
          throw new MusterError('corrupt', 'the digest does not agree')
        }
        this.finished = sha256
      },
    }
  }
}
