/** What agents of nodes may answer about their process: servers look at it before they show it to anyone. */
import { Type } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'

const textLengthMax = 1024 * 1024
const listMax = 4_096
const profileBytesMax = 6 * 1024 * 1024

const Text = Type.String({ maxLength: textLengthMax })
const Amount = Type.Number({ minimum: -1e18, maximum: 1e18 })

export const HostAnswer = Type.Object({
  agentId: Type.String({ maxLength: 256 }),
  data: Type.Object({
    OS: Text,
    Network: Type.Array(Type.Record(Type.String(), Text), { maxItems: listMax }),
    ResolvConf: Text,
    Hosts: Text,
    Environment: Type.Record(Type.String(), Text),
    Disk: Type.Record(Type.String(), Type.Object({ DiskMB: Amount, UsedMB: Amount })),
  }),
})

export const MonitorAnswer = Text

/** Of a profile. No others: what a browser would take for a page must not come from an agent. */
export const profileTypes = {
  binary: 'application/octet-stream',
  plain: 'text/plain; charset=utf-8',
} as const

export const ProfileAnswer = Type.Object({
  type: Type.Enum(Object.values(profileTypes)),
  bytes: bytesSchema(profileBytesMax),
})
