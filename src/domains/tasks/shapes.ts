/** What routes of tasks and of their files answer. */
import { Type } from 'typebox'
import { count, mapOf, Nanoseconds, text, Time } from '../../api/shape.ts'

/** A part of a file, or `{}` as a heartbeat. */
export const FileFrame = Type.Object({
  File: Type.Optional(text('Name of the file')),
  Offset: Type.Optional(count('Where in the file the data begins')),
  Data: Type.Optional(text('Base64')),
  FileEvent: Type.Optional(text('`file deleted`, which ends it, or `file truncated`')),
})

export const FileInfo = Type.Object(
  {
    Name: Type.String(),
    IsDir: Type.Boolean(),
    Size: count('Bytes'),
    FileMode: text('As `-rw-r--r--`'),
    ModTime: Time,
    ContentType: Type.Optional(text('Of one file: what `cat` calls it')),
  },
  { title: 'FileInfo' },
)

export const Done = Type.Object({ Index: count('Always 0: no entry of the log is written') })

const share = (description: string) => Type.Number({ minimum: 0, description })
const words = Type.Array(Type.String(), { description: 'Those that are measured; others are 0' })

const Usage = Type.Object({
  CpuStats: Type.Object({
    Measured: words,
    Percent: share('Of one processor, since the last look'),
    SystemMode: share('Of it, in the kernel'),
    UserMode: share('Of it, outside'),
    TotalTicks: share('MHz'),
    ThrottledPeriods: count('0'),
    ThrottledTime: count('0'),
  }),
  DeviceStats: Type.Null(),
  MemoryStats: Type.Object({
    Measured: words,
    RSS: count('Bytes in memory'),
    Swap: count('Bytes swapped out'),
    Usage: count('As RSS'),
    Cache: count('0'),
    MappedFile: count('0'),
    MaxUsage: count('0'),
    KernelUsage: count('0'),
    KernelMaxUsage: count('0'),
  }),
})

export const AllocationUsage = Type.Object(
  {
    ResourceUsage: Usage,
    Tasks: mapOf(
      Type.Object({
        Pids: mapOf(Usage, 'By process, of the first 256'),
        ResourceUsage: Usage,
        Timestamp: Nanoseconds,
      }),
      'By task',
    ),
    Timestamp: Nanoseconds,
  },
  { title: 'AllocationUsage' },
)

const Disk = Type.Object({
  Mountpoint: text('Data folder of the agent'),
  Device: text('Empty'),
  Size: count('Bytes'),
  Used: count('Bytes'),
  Available: count('Bytes that the agent may use'),
  UsedPercent: share(''),
  InodesUsedPercent: share(''),
})

export const MachineUsage = Type.Object(
  {
    AllocDirStats: Disk,
    DiskStats: Type.Array(Disk),
    CPU: Type.Array(
      Type.Object({
        CPU: text('`cpu0` and so on'),
        User: share('Percent'),
        System: share('Percent'),
        Idle: share('Percent'),
        Total: share('Percent in use'),
      }),
    ),
    CPUTicksConsumed: share('MHz, of all processors'),
    DeviceStats: Type.Array(Type.Unknown()),
    Memory: Type.Object({
      Total: count('Bytes'),
      Available: count('Bytes'),
      Free: count('Bytes'),
      Used: count('Bytes'),
    }),
    Timestamp: Nanoseconds,
    Uptime: count('Seconds'),
  },
  { title: 'MachineUsage' },
)
