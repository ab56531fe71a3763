/** Ports of a `-dev` agent: the default ones as far as they are free, so that it runs beside a cluster. */
import { createSocket } from 'node:dgram'
import { createServer, isIPv6 } from 'node:net'
import type { AgentConfig } from './config.ts'
import { defaultPorts, type DefaultPorts } from './config-listeners.ts'

type Where = Pick<AgentConfig, 'bindAddr' | 'ports' | 'listeners'>

/** `defaults`, with 0 (any free port) for each that another process has at an address of `config`. */
export async function freeDefaults(
  { bindAddr, listeners }: Where,
  defaults: DefaultPorts = defaultPorts,
): Promise<DefaultPorts> {
  const hosts = [...new Set([bindAddr, ...listeners.map(({ host }) => host)])]
  const free = async (port: number, isTaken = isStreamTaken): Promise<number> => {
    if (port === 0) return 0
    const taken = await Promise.all(hosts.map((host) => isTaken(host, port)))
    return taken.includes(true) ? 0 : port
  }
  return {
    http: await free(defaults.http),
    rpc: await free(defaults.rpc),
    gossip: await free(await free(defaults.gossip), isDatagramTaken),
    ops: await free(defaults.ops),
    consul: await free(defaults.consul),
  }
}

/** To compare two configurations by. */
export function listeningPorts({ ports, listeners }: Where): string {
  return [ports.rpc, ports.gossip, ...listeners.map(({ port }) => port)].join(' ')
}

// Only a port in use is avoided. What else is wrong with an address is told by the listener that needs it.
const isInUse = (error: NodeJS.ErrnoException): boolean => error.code === 'EADDRINUSE'

function isStreamTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error) => resolve(isInUse(error)))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)))
  })
}

function isDatagramTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
    probe.once('error', (error) => probe.close(() => resolve(isInUse(error))))
    probe.bind({ address: host, port, exclusive: true }, () => probe.close(() => resolve(false)))
  })
}
