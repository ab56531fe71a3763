/** What tasks take of their machine, as agents tell it. Of processor time shares since the last look, of one processor. */
export type ResourceUsage = {
  readonly userPercent: number
  readonly systemPercent: number
  readonly percent: number
  readonly mhz: number
  readonly rssBytes: number
  readonly swapBytes: number
}

export type TaskUsage = {
  readonly timeMs: number
  /** Of all its processes. */
  readonly usage: ResourceUsage
  readonly pids: readonly (readonly [pid: number, usage: ResourceUsage])[]
}

/** Of tasks by name. */
export type Usages = readonly (readonly [task: string, usage: TaskUsage])[]

/** Of a machine. */
export type HostUsage = {
  readonly timeMs: number
  readonly uptimeSeconds: number
  readonly processors: readonly {
    readonly name: string
    readonly userPercent: number
    readonly systemPercent: number
    readonly idlePercent: number
  }[]
  readonly mhz: number
  readonly memory: {
    readonly totalBytes: number
    readonly availableBytes: number
    readonly freeBytes: number
  }
  /** Where allocations have their folders. */
  readonly disk: {
    readonly path: string
    readonly sizeBytes: number
    readonly usedBytes: number
    readonly availableBytes: number
    readonly inodesUsedPercent: number
  }
}
