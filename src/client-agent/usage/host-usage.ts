/** What this machine has in use: processors between two looks, memory, and the disk that allocations are on. */
import { readFile, statfs } from 'node:fs/promises'
import { cpus, freemem, totalmem, uptime, type CpuInfo } from 'node:os'
import type { HostUsage } from '../../domains/tasks/usage-model.ts'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'

/** Between the two looks. */
const betweenMs = 200
const kib = 1_024

export async function hostUsage(folder: string, mhz: number, clock: Clock): Promise<HostUsage> {
  const before = cpus()
  await delay(clock, betweenMs)
  const after = cpus()
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(folder)
  return {
    timeMs: clock.wallMs(),
    uptimeSeconds: uptime(),
    processors: after.map((processor, at) => shares(`cpu${at}`, before[at], processor)),
    mhz,
    memory: {
      totalBytes: totalmem(),
      availableBytes: await availableBytes(),
      freeBytes: freemem(),
    },
    disk: {
      path: folder,
      sizeBytes: bsize * blocks,
      usedBytes: bsize * (blocks - bfree),
      availableBytes: bsize * bavail,
      inodesUsedPercent: files === 0 ? 0 : (100 * (files - ffree)) / files,
    },
  }
}

function shares(name: string, before: CpuInfo | undefined, after: CpuInfo) {
  const used = (of: (times: CpuInfo['times']) => number): number =>
    Math.max(0, of(after.times) - (before === undefined ? 0 : of(before.times)))
  const user = used(({ user, nice }) => user + nice)
  const system = used(({ sys, irq }) => sys + irq)
  const idle = used((times) => times.idle)
  const whole = Math.max(1, user + system + idle)
  const percent = (ms: number): number => (100 * ms) / whole
  return {
    name,
    userPercent: percent(user),
    systemPercent: percent(system),
    idlePercent: percent(idle),
  }
}

async function availableBytes(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '')
  const match = /^MemAvailable:\s+(\d{1,15}) kB$/m.exec(text)
  return match === null ? freemem() : Number(match[1]) * kib
}
