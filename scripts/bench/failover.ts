/** How long nobody can write after the leader is killed: from the signal to the next accepted write. */
import { setTimeout as delay } from 'node:timers/promises'
import { askOnce } from './connection.ts'
import { keys, type System } from './system.ts'

export type Failover = {
  readonly medianMs: number
  readonly worstMs: number
  readonly rounds: number
}

const probeEveryMs = 5
const gapMsMax = 20_000
/** A probe that waits longer makes room for a later one, so that a system may park or drop it as it likes. */
const probeTimeoutMs = 1_000
/** A cluster that was just mended is not yet at rest. */
const restMs = 500

export async function measureFailover(system: System, rounds: number): Promise<Failover> {
  const gapsMs: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const leader = await system.leader()
    await delay(restMs)
    gapsMs.push(await gapAfterKill(system, leader))
    await system.revive(leader)
  }
  gapsMs.sort((a, b) => a - b)
  return { medianMs: gapsMs[gapsMs.length >> 1] ?? 0, worstMs: gapsMs.at(-1) ?? 0, rounds }
}

async function gapAfterKill(system: System, leader: number): Promise<number> {
  const survivors = Array.from({ length: system.size }, (_, at) => at).filter((at) => at !== leader)
  const ports = survivors.map((at) => system.member(at).httpPort)
  const ended = new AbortController()
  const killed = system.kill(leader)
  const startMs = performance.now()
  let probes = 0
  const accepted: number[] = []
  while (accepted.length === 0) {
    if (performance.now() - startMs > gapMsMax) throw new Error('no write was accepted')
    for (const port of ports) {
      probes += 1
      const bounds = { timeoutMs: probeTimeoutMs, signal: ended.signal }
      void askOnce(port, system.putRequest(probes % keys), bounds).then((status) => {
        if (status === 200) accepted.push(performance.now())
      })
    }
    await delay(probeEveryMs)
  }
  ended.abort()
  await killed
  return Math.min(...accepted) - startMs
}
