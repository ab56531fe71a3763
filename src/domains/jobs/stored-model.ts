/** What of a job can be stored: the bounds of its schema together allow far more than a row may have. */
import { Type, type Static } from 'typebox'
import { JobSpec } from './model.ts'

/** As it is packed; an entry and a row hold one, with little beside it. */
export const specBytesMax = 512 * 1024
/** Of values within one another; Config alone is as deep as a client likes, and less deep than this when it is read. */
const depthMax = 32

/** Names that rows do not keep as they are. */
const oddNames: ReadonlySet<string> = new Set(['__proto__', 'constructor'])

export function isOddName(name: string): boolean {
  return oddNames.has(name)
}

export const StoredSpec = Type.Refine(
  JobSpec,
  (spec) => specBytesOf(spec) <= specBytesMax,
  () => `may have at most ${specBytesMax} bytes, and names other than ${[...oddNames].join(', ')}`,
)
export type StoredSpec = Readonly<Static<typeof StoredSpec>>

/** At least as many as the specification has when it is packed; Infinity where it cannot be kept as it is. */
export function specBytesOf(spec: unknown): number {
  return bytesOf(spec, specBytesMax, 0)
}

/** It stops soon after `most`. */
function bytesOf(value: unknown, most: number, depth: number): number {
  if (depth > depthMax) return Infinity
  switch (typeof value) {
    case 'string':
      return value.length > most ? Infinity : 5 + Buffer.byteLength(value)
    case 'number':
      return 9
    case 'boolean':
      return 1
    case 'object':
      return value === null ? 1 : bytesOfMembers(value, most, depth)
    default:
      return Infinity
  }
}

function bytesOfMembers(value: object, most: number, depth: number): number {
  let bytes = 5
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += bytesOf(item, most - bytes, depth + 1)
      if (bytes > most) return Infinity
    }
    return bytes
  }
  if (value instanceof Uint8Array) return Infinity
  for (const [name, member] of Object.entries(value)) {
    if (isOddName(name)) return Infinity
    bytes += 5 + Buffer.byteLength(name)
    bytes += bytesOf(member, most - bytes, depth + 1)
    if (bytes > most) return Infinity
  }
  return bytes
}
