/** How long nobody can write after the leader is killed: from the signal to the next accepted write. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'node:net'
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
      void probe(port, system.putRequest(probes % keys), ended.signal).then((yes) => {
        if (yes) accepted.push(performance.now())
      })
    }
    await delay(probeEveryMs)
  }
  ended.abort()
  await killed
  return Math.min(...accepted) - startMs
}

/** A connection of its own, so that no probe waits behind another. */
async function probe(port: number, request: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, signal, noDelay: true })
    socket.setTimeout(probeTimeoutMs, () => socket.destroy())
    const finish = (accepted: boolean): void => {
      socket.destroy()
      resolve(accepted)
    }
    socket.on('connect', () => socket.write(request))
    socket.on('data', (data: Buffer) => finish(data.toString('latin1', 0, 12) === 'HTTP/1.1 200'))
    socket.on('error', () => finish(false))
    socket.on('close', () => finish(false))
  })
}
