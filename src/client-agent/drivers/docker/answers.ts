/** What Docker answers, as far as it is read. Of another program: what does not look so is refused, and more is let be. */
import { Type, type Static, type TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { MusterError } from '../../../lib/errors.ts'
import { ContainerId } from '../driver.ts'

const Word = Type.String({ maxLength: 1_024 })
const Text = Type.String({ maxLength: 65_536 })
const Count = Type.Number({ minimum: 0 })
const ApiVersion = Type.String({ pattern: '^[0-9]{1,3}[.][0-9]{1,3}$' })
const Labels = Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])

export const ErrorAnswer = Type.Object({ message: Type.String() })

export const Version = Type.Object({
  Version: Type.String({ maxLength: 128 }),
  ApiVersion,
  MinAPIVersion: Type.Optional(ApiVersion),
})
export type Version = Static<typeof Version>

/** Of a container and of a command in one. */
export const Created = Type.Object({ Id: ContainerId })

export const Container = Type.Object({
  Id: ContainerId,
  State: Type.Object({
    /** `created`, `running`, `paused`, `restarting`, `removing`, `exited` or `dead`. */
    Status: Word,
    Running: Type.Boolean(),
    ExitCode: Type.Integer(),
    OOMKilled: Type.Optional(Type.Boolean()),
    Error: Type.Optional(Text),
  }),
  Config: Type.Object({
    Labels: Type.Optional(Labels),
    Tty: Type.Optional(Type.Boolean()),
    StopSignal: Type.Optional(Word),
  }),
})
export type Container = Static<typeof Container>

const containersMax = 10_000

export const Containers = Type.Array(
  Type.Object({ Id: ContainerId, Labels: Type.Optional(Labels) }),
  { maxItems: containersMax },
)

/** One line of the progress of a pull. */
export const Progress = Type.Object({
  error: Type.Optional(Text),
  errorDetail: Type.Optional(Type.Object({ message: Type.Optional(Text) })),
})

export const Command = Type.Object({
  Running: Type.Boolean(),
  ExitCode: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
})

const Processors = Type.Object({
  cpu_usage: Type.Object({
    total_usage: Count,
    usage_in_kernelmode: Type.Optional(Count),
    usage_in_usermode: Type.Optional(Count),
  }),
  system_cpu_usage: Type.Optional(Count),
  online_cpus: Type.Optional(Count),
})

export const Stats = Type.Object({
  cpu_stats: Processors,
  precpu_stats: Type.Optional(Processors),
  memory_stats: Type.Object({
    usage: Type.Optional(Count),
    stats: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
})
export type Stats = Static<typeof Stats>

/** Throws `unavailable` for what does not look so. */
export function parsed<Schema extends TSchema>(schema: Schema, answer: unknown): Static<Schema> {
  if (Check(schema, answer)) return answer
  throw new MusterError('unavailable', 'Docker answered with what cannot be read')
}
