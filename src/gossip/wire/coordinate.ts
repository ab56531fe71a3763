/** The payload of an ack: a byte of version, and where the answering member places itself. */
import type { Coordinate } from '../core/coordinate.ts'
import { readFields } from './fields.ts'
import type { ReadBounds } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'

const version = 1
const bounds: ReadBounds = { valuesMax: 64, stringBytesMax: 64 }
const dimensionsMax = 32

export function encodeCoordinate({ vector, error, adjustment, height }: Coordinate): Uint8Array {
  const writer = new Writer().byte(version).map(4)
  writer.text('Adjustment').float(adjustment)
  writer.text('Error').float(error)
  writer.text('Height').float(height)
  writer.text('Vec').array(vector.length)
  for (const value of vector) writer.float(value)
  return writer.finish()
}

/** Null for bytes that are none, or of another version; whether it can be is the core's to judge. */
export function decodeCoordinate(bytes: Uint8Array): Coordinate | null {
  const read = readFields(bytes, 1, bounds)
  if (bytes[0] !== version || read === null) return null
  const { fields } = read
  const vector: number[] = []
  for (const value of fields.list('Vec', dimensionsMax)) {
    if (typeof value === 'number') vector.push(value)
    else fields.valid = false
  }
  const coordinate = {
    vector,
    error: fields.float('Error'),
    adjustment: fields.float('Adjustment'),
    height: fields.float('Height'),
  }
  return fields.valid ? coordinate : null
}
