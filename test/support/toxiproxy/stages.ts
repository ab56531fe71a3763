/**
 * What each toxic does to one direction of one connection, as a stage that pieces of the stream pass.
 * A stage keeps the order of what it holds; what it drops it says, so that back-pressure stays right.
 */
import { assertNever } from '../../../src/lib/assert.ts'
import type { Random } from '../../../src/lib/random.ts'
import type { Toxic } from './toxic.ts'

/** `end` is a FIN, `abort` a reset or a failed socket. */
export type Piece =
  | { readonly type: 'bytes'; readonly bytes: Buffer }
  | { readonly type: 'end' }
  | { readonly type: 'abort' }

export type Stage = {
  push(piece: Piece): void
  /** The toxic has other attributes now: what is held by the old ones goes on at once. */
  changed(): void
  /** The toxic goes: what is held goes on at once, and no timer stays. */
  remove(): void
  /** The connection is gone. */
  stop(): void
}

/** What a stage can do to the connection it sits on. */
export type Surroundings = {
  forward(piece: Piece): void
  drop(bytes: Buffer): void
  close(): void
  reset(): void
  readonly random: Random
}

type Of<Type extends Toxic['type']> = Extract<Toxic, { type: Type }>

export function createStage(toxic: Toxic, around: Surroundings): Stage {
  switch (toxic.type) {
    case 'latency':
      return latency(toxic, around)
    case 'bandwidth':
      return bandwidth(toxic, around)
    case 'slow_close':
      return slowClose(toxic, around)
    case 'timeout':
      return timeout(toxic, around)
    case 'reset_peer':
      return resetPeer(toxic, around)
    case 'slicer':
      return slicer(toxic, around)
    case 'limit_data':
      return limitData(toxic, around)
  }
  return assertNever(toxic)
}

/** A toxic that this connection is spared. */
export function passThrough(around: Surroundings): Stage {
  return { push: (piece) => around.forward(piece), changed() {}, remove() {}, stop() {} }
}

function latency(toxic: Of<'latency'>, around: Surroundings): Stage {
  return paced(around, (_piece, arrivedMs) => {
    const { latency, jitter } = toxic.attributes
    return arrivedMs + latency + (around.random.next() * 2 - 1) * jitter
  })
}

/** Long pieces are cut, so that a slow link trickles instead of stalling and then bursting. */
const bandwidthSliceMs = 50

function bandwidth(toxic: Of<'bandwidth'>, around: Surroundings): Stage {
  const stage = paced(around, (piece, _arrivedMs, previousMs) => {
    const { rate } = toxic.attributes
    if (piece.type !== 'bytes' || rate === 0) return previousMs
    return Math.max(previousMs, performance.now()) + piece.bytes.length / rate
  })
  return {
    ...stage,
    push(piece) {
      const { rate } = toxic.attributes
      const sliceMax = Math.max(1, Math.floor(rate * bandwidthSliceMs))
      if (piece.type !== 'bytes' || rate === 0) return stage.push(piece)
      for (let at = 0; at < piece.bytes.length; at += sliceMax) {
        stage.push({ type: 'bytes', bytes: piece.bytes.subarray(at, at + sliceMax) })
      }
    },
  }
}

function slowClose(toxic: Of<'slow_close'>, around: Surroundings): Stage {
  return paced(around, (piece, arrivedMs) =>
    piece.type === 'bytes' ? arrivedMs : arrivedMs + toxic.attributes.delay,
  )
}

function slicer(toxic: Of<'slicer'>, around: Surroundings): Stage {
  const stage = paced(around, (piece, _arrivedMs, previousMs) => {
    if (piece.type !== 'bytes') return previousMs
    return Math.max(previousMs, performance.now()) + toxic.attributes.delay / 1000
  })
  return {
    ...stage,
    push(piece) {
      if (piece.type !== 'bytes') return stage.push(piece)
      const { average_size: average, size_variation: variation } = toxic.attributes
      for (let at = 0; at < piece.bytes.length;) {
        const size = Math.round(average + (around.random.next() * 2 - 1) * variation)
        const end = average === 0 ? piece.bytes.length : at + Math.max(1, size)
        stage.push({ type: 'bytes', bytes: piece.bytes.subarray(at, end) })
        at = end
      }
    },
  }
}

/** Bytes were lost, so the stream cannot go on once the toxic is removed: it closes. */
function timeout(toxic: Of<'timeout'>, around: Surroundings): Stage {
  const timer =
    toxic.attributes.timeout === 0
      ? undefined
      : setTimeout(() => around.close(), toxic.attributes.timeout)
  return {
    push(piece) {
      if (piece.type === 'bytes') around.drop(piece.bytes)
    },
    changed() {},
    remove() {
      clearTimeout(timer)
      around.close()
    },
    stop: () => clearTimeout(timer),
  }
}

function resetPeer(toxic: Of<'reset_peer'>, around: Surroundings): Stage {
  let timer: NodeJS.Timeout | undefined
  return {
    push(piece) {
      if (piece.type === 'bytes') around.drop(piece.bytes)
      timer ??= setTimeout(() => around.reset(), toxic.attributes.timeout)
    },
    changed() {},
    remove() {
      if (timer !== undefined) around.reset()
    },
    stop: () => clearTimeout(timer),
  }
}

function limitData(toxic: Of<'limit_data'>, around: Surroundings): Stage {
  let passed = 0
  return {
    push(piece) {
      if (piece.type !== 'bytes') return around.forward(piece)
      const left = Math.max(0, toxic.attributes.bytes - passed)
      passed += piece.bytes.length
      if (left > 0) around.forward({ type: 'bytes', bytes: piece.bytes.subarray(0, left) })
      if (piece.bytes.length < left) return
      around.drop(piece.bytes.subarray(left))
      around.close()
    },
    changed() {},
    remove() {},
    stop() {},
  }
}

/** Called when the piece's turn comes to be planned: when it may go on, in monotonic ms. */
type Due = (piece: Piece, arrivedMs: number, previousMs: number) => number

/** Lets pieces go on in order, each not before its due time nor before the one ahead. */
function paced(around: Surroundings, due: Due): Stage {
  const queue: { piece: Piece; dueMs: number }[] = []
  let lastMs = 0
  let timer: NodeJS.Timeout | undefined

  const release = (): void => {
    timer = undefined
    for (;;) {
      const head = queue[0]
      if (head === undefined) return
      // Timers are whole milliseconds: what is due within this one goes now.
      const waitMs = head.dueMs - performance.now()
      if (waitMs >= 1) {
        timer = setTimeout(release, waitMs)
        return
      }
      queue.shift()
      around.forward(head.piece)
    }
  }

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    lastMs = 0
    for (const { piece } of queue.splice(0)) around.forward(piece)
  }

  return {
    push(piece) {
      const nowMs = performance.now()
      lastMs = Math.max(lastMs, due(piece, nowMs, lastMs))
      queue.push({ piece, dueMs: lastMs })
      if (timer === undefined) release()
    },
    changed: flush,
    remove: flush,
    stop() {
      clearTimeout(timer)
      queue.length = 0
    },
  }
}
