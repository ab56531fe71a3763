/**
 * How a system is right after its start: all members are killed and started again, and a single client writes at the
 * leader, one request after the other.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { askOnce } from './connection.ts'
import { runLoad } from './plan.ts'
import { keys, type System } from './system.ts'

export type Cold = {
  /** From the start of the processes to the first accepted write. */
  readonly firstWriteMs: number
  /** Of the single client, in its first seconds, and once it has written for a while. */
  readonly earlyP50Ms: number
  readonly laterP50Ms: number
}

const earlyMs = 3_000
const betweenMs = 7_000
const laterMs = 3_000
const probeEveryMs = 20
const probeTimeoutMs = 10_000
const startMsMax = 60_000

export async function measureCold(system: System): Promise<Cold> {
  const members = Array.from({ length: system.size }, (_, at) => at)
  await Promise.all(members.map((at) => system.kill(at)))
  const fromMs = performance.now()
  await Promise.all(members.map((at) => system.launch(at)))
  const firstWriteMs = (await firstWrite(system, members)) - fromMs
  const writer = await system.leader()
  const early = await write(system, writer, earlyMs)
  await write(system, writer, betweenMs)
  const later = await write(system, writer, laterMs)
  return { firstWriteMs, earlyP50Ms: early, laterP50Ms: later }
}

/** When it was accepted. */
async function firstWrite(system: System, members: readonly number[]): Promise<number> {
  const untilMs = performance.now() + startMsMax
  const ended = new AbortController()
  const bounds = { timeoutMs: probeTimeoutMs, signal: ended.signal }
  const accepted: number[] = []
  while (accepted.length === 0) {
    if (performance.now() > untilMs) throw new Error(`${system.name} accepts no write`)
    for (const at of members) {
      void askOnce(system.member(at).httpPort, system.putRequest(at), bounds).then((status) => {
        if (status === 200) accepted.push(performance.now())
      })
    }
    await delay(probeEveryMs)
  }
  ended.abort()
  return Math.min(...accepted)
}

async function write(system: System, at: number, durationMs: number): Promise<number> {
  const { p50Ms } = await runLoad({
    port: system.member(at).httpPort,
    concurrency: 1,
    warmupMs: 0,
    durationMs,
    requests: Array.from({ length: keys }, (_, key) => system.putRequest(key)),
  })
  return p50Ms
}

export function coldTable(measured: ReadonlyMap<string, readonly Cold[]>): string {
  const head = `${''.padEnd(10)} first write ms   p50 ms, 0 to 3 s   p50 ms, 10 to 13 s`
  const rows = [...measured].map(([name, rounds]) => {
    const cell = (pick: (cold: Cold) => number, digits: number) => {
      const sorted = rounds.map(pick).toSorted((a, b) => a - b)
      const [median, worst] = [sorted[sorted.length >> 1] ?? NaN, sorted.at(-1) ?? NaN]
      return `${median.toFixed(digits)} (${worst.toFixed(digits)})`
    }
    return [
      name.padEnd(10),
      cell(({ firstWriteMs }) => firstWriteMs, 0).padStart(15),
      cell(({ earlyP50Ms }) => earlyP50Ms, 2).padStart(18),
      cell(({ laterP50Ms }) => laterP50Ms, 2).padStart(20),
    ].join(' ')
  })
  return [head, ...rows, 'median of the rounds, the worst in brackets'].join('\n')
}
