/**
 * The machine's own rows, beside the tables: how far the state is, the configuration, and which generation of the
 * tables counts. `replicated` ones are part of the state and equal on every server; `local` ones are this store's.
 */
import { Type } from 'typebox'
import type { Static, TSchema } from 'typebox'
import { MusterError } from '../lib/errors.ts'
import type { Configuration } from '../raft/core/message.ts'
import { pack, unpack } from './codec.ts'
import { generationMax, generationPrefix } from './keys.ts'
import { Validator } from './validator.ts'

/** Written into every store and every snapshot chunk; a store of a newer format is refused. */
export const stateFormat = 1

const own = generationPrefix(0)
export const replicatedPrefix = `${own}r:`

const Index = Type.Integer({ minimum: 0 })
const Generation = Type.Integer({ minimum: 0, maximum: generationMax })

const Applied = Type.Tuple([Index, Index])

const ConfigurationRow = Type.Object({
  index: Index,
  configuration: Type.Object({
    clusterId: Type.String(),
    members: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        address: Type.String(),
        role: Type.Union([Type.Literal('voter'), Type.Literal('learner')]),
      }),
    ),
    succession: Type.Optional(
      Type.Object({
        predecessors: Type.Unsafe<readonly string[]>(Type.Array(Type.String())),
        beginsAt: Index,
      }),
    ),
  }),
})

/** An operator restore on its way: rows arrive in a generation of their own. */
const Staging = Type.Object({
  id: Type.String(),
  generation: Generation,
  nextChunk: Index,
  rows: Index,
  /** Chain over the chunks so far, see `restoreDigest`. */
  digest: Type.String(),
  /** Rows arrive in key order; this is the last key. */
  lastKey: Type.String(),
  /** Counter of a row so far, see `counter-floor.ts`. Absent in a restore that began before the cluster kept a floor. */
  highest: Type.Optional(Index),
})

const Generations = Type.Object({
  current: Generation,
  /** The highest generation ever given, so that none is used twice. */
  newest: Generation,
  staging: Type.Union([Staging, Type.Null()]),
})

export type Staging = Static<typeof Staging>
export type Generations = Static<typeof Generations>
export type ConfigurationRow = {
  readonly index: number
  readonly configuration: Configuration
}

function row<Schema extends TSchema>(key: string, schema: Schema) {
  const validator = new Validator(schema)
  return {
    key,
    encode: (value: Static<Schema>): Buffer => pack(value),
    /** Throws `corrupt` when the stored bytes are not what `encode` wrote. */
    decode(bytes: Uint8Array): Static<Schema> {
      const value = unpack(bytes)
      if (!validator.accepts(value)) {
        throw new MusterError(
          'corrupt',
          `the state's row ${key.slice(4)} does not hold what was written to it`,
        )
      }
      return value
    },
  }
}

export const appliedRow = row(`${replicatedPrefix}applied`, Applied)
export const configurationRow = row(`${replicatedPrefix}configuration`, ConfigurationRow)
/** Absent as long as a cluster runs at the first one, see `cluster-version.ts`. */
export const commandVersionRow = row(`${replicatedPrefix}commandVersion`, Index)
/** Absent while it is 0, see `counter-floor.ts`. */
export const counterFloorRow = row(`${replicatedPrefix}counterFloor`, Index)
export const generationsRow = row(`${replicatedPrefix}generations`, Generations)
export const formatRow = row(`${own}l:format`, Index)
export const installedRow = row(`${own}l:installed`, Index)
/** Rewritten to have something to write with a sync. */
export const syncRow = row(`${own}l:sync`, Index)

export const noConfiguration: ConfigurationRow = {
  index: 0,
  configuration: { clusterId: '', members: [] },
}
