/**
 * The label: a name of the whole cluster before everything it sends, so that two clusters that meet by mistake do not
 * mix. It is no secret; with encryption it is part of what the tag protects.
 */
import { MusterError } from '../../lib/errors.ts'
import { kind } from './kinds.ts'
import { textBytes } from './text.ts'

const labelBytesMax = 255

export type Labelled =
  /** The length of the header, 0 when there is none. */
  | { readonly type: 'label'; readonly label: Uint8Array; readonly next: number }
  | { readonly type: 'incomplete' }
  | { readonly type: 'broken' }

/** Throws invalid_argument over 255 bytes. Empty for no label. */
export function labelBytes(label: string): Uint8Array {
  const bytes = textBytes(label)
  if (bytes.length > labelBytesMax) {
    throw new MusterError(
      'invalid_argument',
      `a gossip label of ${bytes.length} bytes; at most ${labelBytesMax} are possible`,
    )
  }
  return bytes
}

/** What goes before everything; empty without a label. */
export function labelHeader(label: Uint8Array): Uint8Array {
  return label.length === 0
    ? new Uint8Array()
    : Uint8Array.from([kind.label, label.length, ...label])
}

export function readLabel(bytes: Uint8Array): Labelled {
  if (bytes[0] !== kind.label) return { type: 'label', label: new Uint8Array(), next: 0 }
  const length = bytes[1]
  // An empty label is never written down.
  if (length === 0) return { type: 'broken' }
  const next = 2 + (length ?? 0)
  if (length === undefined || bytes.length < next) return { type: 'incomplete' }
  return { type: 'label', label: bytes.subarray(2, next), next }
}

export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}
