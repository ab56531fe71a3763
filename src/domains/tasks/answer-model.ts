/** What agents may answer about tasks: servers look at it before they show it to anyone. */
import { Type } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'

/** An agent cuts files into pieces that are no longer. */
const chunkBytesMax = 1024 * 1024
const namesMax = 65_536
const tasksMax = 256
const processorsMax = 4_096
/** Of a Date. */
const timeMsMax = 8_640_000_000_000_000

const Name = Type.String({ maxLength: 4_096 })
const Amount = Type.Number({ minimum: -1e18, maximum: 1e18 })
const TimeMs = Type.Number({ minimum: -timeMsMax, maximum: timeMsMax })
const Offset = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const Bytes = bytesSchema(chunkBytesMax)

export const FileChunkAnswer = Type.Object({
  file: Name,
  offset: Offset,
  data: Bytes,
  event: Type.Optional(Type.Enum(['file deleted', 'file truncated'])),
})

export const FileInfoAnswer = Type.Object({
  name: Name,
  isDir: Type.Boolean(),
  size: Offset,
  mode: Type.String({ maxLength: 16 }),
  modifiedMs: TimeMs,
})
export const FileInfosAnswer = Type.Array(FileInfoAnswer, { maxItems: namesMax })

const ResourceUsage = Type.Object({
  userPercent: Amount,
  systemPercent: Amount,
  percent: Amount,
  mhz: Amount,
  rssBytes: Amount,
  swapBytes: Amount,
})
const TaskUsage = Type.Object({
  timeMs: TimeMs,
  usage: ResourceUsage,
  pids: Type.Array(Type.Tuple([Offset, ResourceUsage]), { maxItems: namesMax }),
})
export const UsagesAnswer = Type.Array(Type.Tuple([Name, TaskUsage]), { maxItems: tasksMax })

export const HostUsageAnswer = Type.Object({
  timeMs: TimeMs,
  uptimeSeconds: Amount,
  processors: Type.Array(
    Type.Object({ name: Name, userPercent: Amount, systemPercent: Amount, idlePercent: Amount }),
    { maxItems: processorsMax },
  ),
  mhz: Amount,
  memory: Type.Object({ totalBytes: Amount, availableBytes: Amount, freeBytes: Amount }),
  disk: Type.Object({
    path: Name,
    sizeBytes: Amount,
    usedBytes: Amount,
    availableBytes: Amount,
    inodesUsedPercent: Amount,
  }),
})

export const CommandOutputAnswer = Type.Union([
  Type.Object({ type: Type.Literal('session'), session: Type.String({ maxLength: 64 }) }),
  Type.Object({ type: Type.Enum(['stdout', 'stderr']), data: Bytes }),
  Type.Object({
    type: Type.Literal('exited'),
    code: Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 }),
  }),
])
