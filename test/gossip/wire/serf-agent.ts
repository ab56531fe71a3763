/** A real agent of serf as a neighbour, where the machine has the program. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePorts } from '../../support/free-ports.ts'

const program = 'serf'

/** False where serf is there; otherwise why its tests are left out. */
export const serfMissing: string | false =
  spawnSync(program, ['version']).status === 0
    ? false
    : 'the program serf is not installed (Debian package serf)'

export type SerfAgent = {
  readonly port: number
  readonly rpcAddress: string
  /** Whether the process is still there. */
  running(): boolean
  stop(): Promise<void>
}

/** Starts an agent on loopback. It listens soon afterwards: ask until it answers. */
export async function startSerf(
  name: string,
  options: { readonly key?: Uint8Array; readonly tags?: readonly string[] } = {},
): Promise<SerfAgent> {
  const [port = 0, rpcPort = 0] = await freePorts(2)
  const rpcAddress = `127.0.0.1:${rpcPort}`
  const { key, tags = [] } = options
  const child: ChildProcess = spawn(
    program,
    [
      'agent',
      `-node=${name}`,
      `-bind=127.0.0.1:${port}`,
      `-rpc-addr=${rpcAddress}`,
      ...(key === undefined ? [] : [`-encrypt=${Buffer.from(key).toString('base64')}`]),
      ...tags.map((tag) => `-tag=${tag}`),
    ],
    { stdio: 'ignore' },
  )
  const exited = once(child, 'exit')
  return {
    port,
    rpcAddress,
    running: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
