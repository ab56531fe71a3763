/**
 * Calls to protobuf frames and back. Arguments, results and details are msgpack behind a version byte, so that what
 * is in them can change its encoding without a new kind of frame. Decoding throws one MusterError, nothing else.
 */
import { Packr } from 'msgpackr'
import { writeNameLengthMax } from '../fsm/codec.ts'
import { isErrorCode, MusterError } from '../lib/errors.ts'
import { wireType } from '../wire/protocol.ts'
import type { CallRequest, NamedWrite } from './link.ts'
import { isPlainValue } from './plain-value.ts'

export type WireRequest = {
  readonly id: number
  readonly method: string
  readonly args: Uint8Array
  /** Absent: anonymous. */
  readonly token?: string
  readonly remote: string
  readonly requestId: string
  readonly timeoutMs: number
  readonly write?: NamedWrite | null
  readonly useSpent?: boolean
  readonly node?: string
}
export type WireCallError = {
  readonly code: string
  readonly message: string
  readonly details: Uint8Array
}
export type WireResponse = {
  readonly id: number
  readonly result?: Uint8Array
  readonly error?: WireCallError | null
}
export type CallFrame = {
  readonly requests: readonly WireRequest[]
  readonly responses: readonly WireResponse[]
  readonly cancels: readonly number[]
}

const valueVersion = 1
/** Of what stands in logs. */
const textLengthMax = 1024
/** Of an error's text, which is one line. */
const messageLengthMax = 8_192
/** A head of HTTP holds no longer one. */
const tokenLengthMax = 64 * 1024
const packr = new Packr({ useRecords: false })
const frames = wireType<CallFrame>('muster.server.CallFrame')
const empty = Buffer.alloc(0)

export function encodeValue(value: unknown): Buffer {
  const packed = packr.pack(value)
  const bytes = Buffer.allocUnsafe(packed.length + 1)
  bytes[0] = valueVersion
  packed.copy(bytes, 1)
  return bytes
}

/** Throws MusterError `incompatible`. */
export function decodeValue(bytes: Uint8Array): unknown {
  if (bytes[0] !== valueVersion) {
    throw new MusterError(
      'incompatible',
      `a value of encoding ${bytes[0]} came, this program reads encoding ${valueVersion}`,
    )
  }
  try {
    return packr.unpack(bytes.subarray(1))
  } catch (cause) {
    throw new MusterError('incompatible', 'a value is not the msgpack it should be', { cause })
  }
}

/** As `decodeValue`, of what a client agent sends: nothing that the decoder would run code for, or take long over. */
export function decodePlainValue(bytes: Uint8Array): unknown {
  if (isPlainValue(bytes.subarray(1))) return decodeValue(bytes)
  throw new MusterError('incompatible', 'a value is no msgpack of plain data')
}

export function encodeRequest(id: number, request: CallRequest, args: Buffer): WireRequest {
  const { method, token, remote, requestId, write } = request
  const timeoutMs = Math.min(Math.max(Math.round(request.timeoutMs), 1), 2 ** 31 - 1)
  const anonymous = { id, method, args, remote, requestId, timeoutMs }
  const spent = request.use === true ? { ...anonymous, useSpent: true } : anonymous
  const named = token === null ? spent : { ...spent, token }
  const wire = request.node === undefined ? named : { ...named, node: request.node }
  return write === undefined ? wire : { ...wire, write }
}

/** Throws MusterError `incompatible`. Nothing of it refers to the frame that it came in. */
export function decodeRequest(wire: WireRequest): CallRequest {
  const { method, remote, requestId, timeoutMs } = wire
  for (const text of [method, remote, requestId]) {
    if (text.length > textLengthMax) {
      throw new MusterError(
        'incompatible',
        `a call names things in over ${textLengthMax} characters`,
      )
    }
  }
  // An absent optional field is its default on the decoder's prototype; only a sent one is its own.
  const token = Object.hasOwn(wire, 'token') && wire.token !== undefined ? wire.token : null
  if (token !== null && token.length > tokenLengthMax) {
    throw new MusterError('incompatible', `a token has over ${tokenLengthMax} characters`)
  }
  const args = Buffer.from(wire.args)
  if (!isPlainValue(args.subarray(1))) {
    throw new MusterError('incompatible', 'the arguments of a call are no msgpack of plain data')
  }
  const decoded = { method, args: decodeValue(args), token, remote, requestId, timeoutMs }
  const used = wire.useSpent === true ? { ...decoded, use: true } : decoded
  const node = Object.hasOwn(wire, 'node') ? wire.node : undefined
  if (node !== undefined && node.length > textLengthMax) {
    throw new MusterError('incompatible', `a call names a node in over ${textLengthMax} characters`)
  }
  const request = node === undefined ? used : { ...used, node }
  const { write } = wire
  if (write === undefined || write === null) return request
  return { ...request, write: checkWrite(write) }
}

function checkWrite({ name, term }: NamedWrite): NamedWrite {
  if (name !== '' && name.length <= writeNameLengthMax && Number.isSafeInteger(term)) {
    return { name, term }
  }
  throw new MusterError(
    'incompatible',
    `a write's name has 1 to ${writeNameLengthMax} characters, and its term is below 2^53`,
  )
}

export function encodeFailure(id: number, error: MusterError): WireResponse {
  const details = error.details === undefined ? empty : encodeValue(error.details)
  return { id, error: { code: error.code, message: error.message, details } }
}

/** What the remote threw, as it threw it. */
export function decodeFailure(wire: WireCallError, decode = decodeValue): MusterError {
  // A newer server may know codes that this one does not.
  const code = isErrorCode(wire.code) ? wire.code : 'internal'
  const message = wire.message.slice(0, messageLengthMax)
  if (wire.details.length === 0) return new MusterError(code, message)
  return new MusterError(code, message, { details: decode(wire.details) })
}

export function encodeCalls(frame: Partial<CallFrame>): Buffer {
  return frames.encode({ requests: [], responses: [], cancels: [], ...frame })
}

/** Throws MusterError `corrupt`. */
export function decodeCalls(bytes: Buffer): CallFrame {
  let frame
  try {
    frame = frames.decode(bytes)
  } catch (cause) {
    throw new MusterError('corrupt', 'a frame of calls is not the protobuf it should be', { cause })
  }
  for (const { id } of [...frame.requests, ...frame.responses]) checkId(id)
  for (const id of frame.cancels) checkId(id)
  return frame
}

function checkId(id: number): void {
  if (Number.isSafeInteger(id)) return
  throw new MusterError('corrupt', `a call has the id ${id}, it must be below 2^53`)
}
