/**
 * Ports for servers that must come back at the same address after a restart. They lie below the range from
 * which the system takes ports for outgoing connections, so that nothing slips in while a server is down.
 */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { randomInteger, systemRandom } from '../../src/lib/random.ts'

/** Test files that run at the same time take from ranges of their own: the runner numbers its jobs from 0. */
const rangesAtOnce = 8
const portsPerRange = 2_400
const job = Number(process.env['TAP_JOB_ID'] ?? 0) % rangesAtOnce
const lowestPort = 12_000 + job * portsPerRange
const highestPort = lowestPort + portsPerRange
const attemptsMax = 1_000

/** Handed out once per process. */
const taken = new Set<number>()

/** Free for TCP and UDP on loopback. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let attempt = 0; attempt < attemptsMax && ports.length < count; attempt += 1) {
    const port = randomInteger(systemRandom, lowestPort, highestPort)
    if (taken.has(port)) continue
    // Before the probe: many ask at a time.
    taken.add(port)
    if ((await isFreeStream(port)) && (await isFreeDatagram(port))) ports.push(port)
  }
  if (ports.length < count) throw new Error(`no ${count} free ports in ${attemptsMax} attempts`)
  return ports
}

async function isFreeStream(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

async function isFreeDatagram(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createSocket('udp4')
    probe.once('error', () => resolve(false))
    probe.bind(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
