/**
 * Commands and rows to bytes and back, versioned.
 *
 * A command is msgpack of [envelope, version, type, args], and of one more, the write's name, where it has one
 * (`rpc/sent-writes.ts`). `envelope` is the shape of these; `version` is the command version the cluster ran at when it
 * was proposed (`cluster-version.ts`): a program refuses what is newer than itself.
 * The same value always packs to the same bytes, for property order comes from code.
 */
import { Packr } from 'msgpackr'
import { Type } from 'typebox'
import type { TSchema } from 'typebox'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Command } from './domain.ts'
import { keptApart, notKept } from './kept-row.ts'
import { Validator } from './validator.ts'

/** The newest command version this program applies. A definition that came later names its own in `since`. */
export const commandVersion = 22

/** The command version of the first programs that read a write's name: until all servers do, no write has one. */
export const namedWritesVersion = 3

/** Characters of a write's name. */
export const writeNameLengthMax = 64

const envelope = { plain: 1, named: 2 }

/** Bytes of one encoded command. Over it `encodeCommand` refuses with `too_large`. */
export const commandBytesMax = 2 * 1024 * 1024

/** Bytes of one row, so that a snapshot's chunk stays below a transport's frame. Domains keep their limits below it. */
export const rowBytesMax = 700 * 1024

const packr = new Packr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

export function pack(value: unknown): Buffer {
  return packr.pack(value)
}

/** Throws whatever the codec throws on bytes that are not msgpack. */
export function unpack(bytes: Uint8Array): unknown {
  return packr.unpack(bytes)
}

/** Bytes inside of command arguments. */
export function bytesSchema(bytesMax: number) {
  return Type.Refine(
    Type.Unsafe<Uint8Array>({}),
    (value) => value instanceof Uint8Array && value.byteLength <= bytesMax,
    () => `must be at most ${bytesMax} bytes`,
  )
}

/** What the codec needs to know of a command. */
export type Encodable = { readonly args: TSchema; readonly since?: number }

type Decoded<Definition> = {
  readonly definition: Definition
  readonly type: string
  readonly args: unknown
  /** null: the write has none. */
  readonly name: string | null
}

type Checked<Definition> = {
  readonly definition: Definition
  readonly check: (args: unknown) => boolean
}

/** All commands of a program. Schemas are compiled once, here. */
export class CommandCodec<Definition extends Encodable> {
  readonly #commands: ReadonlyMap<string, Checked<Definition>>
  /** The command version of this program. */
  readonly newest: number
  /** What was decoded to check an encoding, for the server that encoded it and will soon apply it. */
  readonly #decoded = new WeakMap<Uint8Array, Decoded<Definition>>()

  constructor(definitions: Iterable<readonly [string, Definition]>, newest: number) {
    this.newest = newest
    const commands = new Map<string, Checked<Definition>>()
    for (const [type, definition] of definitions) {
      if (commands.has(type)) throw new MusterError('internal', `command ${type} is defined twice`)
      commands.set(type, { definition, check: checker(definition.args) })
    }
    this.#commands = commands
  }

  /** Throws `internal` for a command that no domain defines. */
  definitionOf(type: string): Definition {
    const known = this.#commands.get(type)
    if (known === undefined) {
      throw new MusterError('internal', `no domain defines the command ${type}`)
    }
    return known.definition
  }

  /**
   * `version`: the command version that the cluster runs at. Throws `not_implemented` when the command
   * is newer than that, `unavailable` when the cluster knows no names yet and `name` is given, `too_large` over
   * `commandBytesMax`, and `internal` when the arguments do not check: an entry that cannot be decoded would stop every
   * server.
   */
  encode(command: Command, version: number, name: string | null = null): Uint8Array {
    const known = this.#commands.get(command.type)
    if (known === undefined) {
      throw new MusterError('internal', `no domain defines the command ${command.type}`)
    }
    const since = known.definition.since ?? 1
    if (since > version) {
      throw new MusterError(
        'not_implemented',
        `${command.type} needs every server at command version ${since}; the cluster runs at ${version}`,
      )
    }
    if (name !== null && version < namedWritesVersion) {
      const text = `the cluster runs at command version ${version} as far as this server knows, named writes need ${namedWritesVersion}`
      throw new MusterError('unavailable', text)
    }
    const { type } = command
    const data = pack(
      name === null
        ? [envelope.plain, version, type, command.args]
        : [envelope.named, version, type, command.args, name],
    )
    if (data.byteLength > commandBytesMax) {
      throw new MusterError(
        'too_large',
        `a command has at most ${commandBytesMax} bytes, this ${command.type} has ${data.byteLength}`,
      )
    }
    // Checked in the form in which it will arrive, for msgpack drops what it cannot keep.
    const kept = keptApart(command.args)
    const args = kept === notKept ? decodeEnvelope(data).args : kept
    if (!known.check(args)) {
      throw new MusterError('internal', `the arguments of ${command.type} do not match its schema`)
    }
    this.#decoded.set(data, { definition: known.definition, type, args, name })
    return data
  }

  /** Throws `incompatible` on whatever this program cannot apply. */
  decode(data: Uint8Array): Decoded<Definition> {
    const own = this.#decoded.get(data)
    if (own !== undefined) {
      this.#decoded.delete(data)
      return own
    }
    const { version, type, args, name } = decodeEnvelope(data)
    if (version > this.newest) {
      throw new MusterError(
        'incompatible',
        `the log holds a command of version ${version}; this program knows versions up to ${this.newest}: run a newer one`,
      )
    }
    const known = this.#commands.get(type)
    if (known === undefined) {
      throw new MusterError(
        'incompatible',
        `the log holds the command ${JSON.stringify(type)}, which this program does not know: run a newer one`,
      )
    }
    if (!known.check(args)) {
      throw new MusterError(
        'incompatible',
        `the log holds a ${type} whose arguments this program does not understand: run the version that wrote it`,
      )
    }
    return { definition: known.definition, type, args, name }
  }
}

function checker(schema: TSchema): (args: unknown) => boolean {
  const validator = new Validator(schema)
  return (args) => validator.accepts(args)
}

type Envelope = { version: number; type: string; args: unknown; name: string | null }

function decodeEnvelope(data: Uint8Array): Envelope {
  let fields: unknown
  try {
    fields = unpack(data)
  } catch (error) {
    throw new MusterError(
      'incompatible',
      `the log holds a command that is not msgpack: ${textOf(error)}`,
    )
  }
  if (Array.isArray(fields) && fields.length === lengthOf(fields[0])) {
    const [, version, type, args, name = null] = fields as readonly unknown[]
    if (typeof version === 'number' && typeof type === 'string' && isName(name)) {
      return { version, type, args, name }
    }
  }
  throw new MusterError(
    'incompatible',
    'the log holds a command in an envelope that this program does not know: run a newer one',
  )
}

/** Of an envelope's fields; -1: this program does not know it. */
function lengthOf(shape: unknown): number {
  if (shape === envelope.plain) return 4
  return shape === envelope.named ? 5 : -1
}

function isName(name: unknown): name is string | null {
  return name === null || (typeof name === 'string' && name.length <= writeNameLengthMax)
}
