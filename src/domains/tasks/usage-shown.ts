/** What tasks and machines take, in Nomad's shapes. */
import { nanoseconds } from '../../lib/date-text.ts'
import type { HostUsage, ResourceUsage, Usages } from './usage-model.ts'

export function shownUsages(usages: Usages) {
  const timeMs = Math.max(0, ...usages.map(([, usage]) => usage.timeMs))
  return {
    ResourceUsage: shownUsage(sumOf(usages.map(([, { usage }]) => usage))),
    Tasks: Object.fromEntries(
      usages.map(([task, { usage, pids, timeMs: ofTask }]) => [
        task,
        {
          Pids: Object.fromEntries(pids.map(([pid, ofPid]) => [String(pid), shownUsage(ofPid)])),
          ResourceUsage: shownUsage(usage),
          Timestamp: nanoseconds(Math.trunc(ofTask)),
        },
      ]),
    ),
    Timestamp: nanoseconds(Math.trunc(timeMs)),
  }
}

function shownUsage({ percent, userPercent, systemPercent, mhz, ...memory }: ResourceUsage) {
  return {
    CpuStats: {
      Measured: ['System Mode', 'User Mode', 'Percent', 'Total Ticks'],
      Percent: rounded(percent),
      SystemMode: rounded(systemPercent),
      ThrottledPeriods: 0,
      ThrottledTime: 0,
      TotalTicks: rounded(mhz),
      UserMode: rounded(userPercent),
    },
    DeviceStats: null,
    MemoryStats: {
      Cache: 0,
      KernelMaxUsage: 0,
      KernelUsage: 0,
      MappedFile: 0,
      MaxUsage: 0,
      Measured: ['RSS', 'Swap'],
      RSS: memory.rssBytes,
      Swap: memory.swapBytes,
      Usage: memory.rssBytes,
    },
  }
}

function sumOf(usages: readonly ResourceUsage[]): ResourceUsage {
  const sum = (of: (usage: ResourceUsage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0)
  return {
    userPercent: sum(({ userPercent }) => userPercent),
    systemPercent: sum(({ systemPercent }) => systemPercent),
    percent: sum(({ percent }) => percent),
    mhz: sum(({ mhz }) => mhz),
    rssBytes: sum(({ rssBytes }) => rssBytes),
    swapBytes: sum(({ swapBytes }) => swapBytes),
  }
}

export function shownHost({ timeMs, uptimeSeconds, processors, mhz, memory, disk }: HostUsage) {
  const shares = processors.map(({ userPercent, systemPercent }) => userPercent + systemPercent)
  const busy = shares.reduce((sum, share) => sum + share, 0)
  return {
    AllocDirStats: shownDisk(disk),
    CPU: processors.map(({ name, userPercent, systemPercent, idlePercent }) => ({
      CPU: name,
      Idle: rounded(idlePercent),
      System: rounded(systemPercent),
      Total: rounded(userPercent + systemPercent),
      User: rounded(userPercent),
    })),
    CPUTicksConsumed: rounded((busy / 100) * mhz),
    DeviceStats: [],
    DiskStats: [shownDisk(disk)],
    Memory: {
      Available: memory.availableBytes,
      Free: memory.freeBytes,
      Total: memory.totalBytes,
      Used: Math.max(0, memory.totalBytes - memory.availableBytes),
    },
    Timestamp: nanoseconds(Math.trunc(timeMs)),
    Uptime: Math.trunc(uptimeSeconds),
  }
}

function shownDisk(disk: HostUsage['disk']) {
  return {
    Available: disk.availableBytes,
    Device: '',
    InodesUsedPercent: rounded(disk.inodesUsedPercent),
    Mountpoint: disk.path,
    Size: disk.sizeBytes,
    Used: disk.usedBytes,
    UsedPercent: rounded((100 * disk.usedBytes) / Math.max(1, disk.sizeBytes)),
  }
}

function rounded(number: number): number {
  return Math.round(number * 100) / 100
}
