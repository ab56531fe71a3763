/**
 * Ports for servers that must come back at the same address after a restart. They lie below the range from
 * which the system takes ports for outgoing connections, so that nothing slips in while a server is down.
 */
import { createServer } from 'node:net'
import { randomInteger, systemRandom } from '../../src/lib/random.ts'

const lowestPort = 12_000
const highestPort = 31_000
const attemptsMax = 1_000

/** Handed out once per process. */
const taken = new Set<number>()

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let attempt = 0; attempt < attemptsMax && ports.length < count; attempt += 1) {
    const port = randomInteger(systemRandom, lowestPort, highestPort)
    if (taken.has(port) || !(await isFree(port))) continue
    taken.add(port)
    ports.push(port)
  }
  if (ports.length < count) throw new Error(`no ${count} free ports in ${attemptsMax} attempts`)
  return ports
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
