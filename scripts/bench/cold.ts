/**
 * How a system is right after its start: all members are killed and started again, and a single client writes at the
 * leader, one request after the other.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { askOnce } from './connection.ts'
import { medianOf, runLoad } from './plan.ts'
import { keys, type System } from './system.ts'

export type Cold = {
  /** From the start of the processes to the first accepted write. */
  readonly firstWriteMs: number
  /** Of the single client, for each second since its first write. */
  readonly p50BySecondMs: readonly number[]
}

const seconds = 12
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
  const { p50BySecondMs } = await runLoad({
    port: system.member(writer).httpPort,
    concurrency: 1,
    warmupMs: 0,
    durationMs: seconds * 1_000,
    requests: Array.from({ length: keys }, (_, key) => system.putRequest(key)),
  })
  return { firstWriteMs, p50BySecondMs }
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

/** Medians of the rounds, and how often the last system's time the first one takes. */
export function coldTable(measured: ReadonlyMap<string, readonly Cold[]>): string {
  const all = [...measured.values()]
  const row = (what: string, pick: (cold: Cold) => number, digits: number) => {
    const times = all.map((rounds) => medianOf(rounds.map(pick)))
    const cells = times.map((time) => time.toFixed(digits).padStart(10)).join('')
    const [first = NaN] = times
    const ratio =
      times.length > 1 ? `${(first / (times.at(-1) ?? NaN)).toFixed(2)}x`.padStart(9) : ''
    return `${what.padEnd(18)}${cells}${ratio}`
  }
  return [
    `${'ms'.padEnd(18)}${[...measured.keys()].map((name) => name.padStart(10)).join('')}`,
    row('first write', ({ firstWriteMs }) => firstWriteMs, 0),
    ...Array.from({ length: seconds }, (_, at) =>
      row(`p50, second ${at + 1}`, ({ p50BySecondMs }) => p50BySecondMs[at] ?? NaN, 2),
    ),
  ].join('\n')
}
