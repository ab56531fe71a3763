/** A client agent's end of an uplink, without the rest of the agent. */
import { openUplinkSocket, type UplinkRequest } from '../../../src/client-agent/uplink-socket.ts'
import { agentWords } from '../../../src/domains/nodes/uplink-words.ts'
import type { NodeSpec } from '../../../src/domains/nodes/model.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { Uplink, UplinkHost } from '../../../src/rpc/uplink.ts'
import { specOf } from './spec.ts'

export const secretOf = (letter: string): string => letter.repeat(43)

/** Whoever closes the uplink in the end: a test. */
type Owner = { readonly teardown: (close: () => void) => void }

export type FakeAgent = {
  readonly uplink: Uplink
  readonly closed: Promise<string>
  ask(method: string, args: unknown): Promise<unknown>
}

/** Opens the uplink at a server on loopback; answers when it is asked whether it lives, and registers again when told. */
export async function openAgent(
  owner: Owner,
  port: number,
  {
    spec = {},
    callMs = 5_000,
    ...node
  }: Partial<UplinkRequest> &
    Pick<UplinkRequest, 'nodeId' | 'name'> & {
      readonly spec?: Partial<NodeSpec>
      readonly callMs?: number
    },
  answer: (method: string) => unknown = (method) => {
    throw new MusterError('not_found', method)
  },
): Promise<FakeAgent> {
  const ended = Promise.withResolvers<string>()
  const ask = (method: string, args: unknown) =>
    uplink.call({ method, args, token: null, remote: '', requestId: method, timeoutMs: callMs })
  const uplink: Uplink = await openUplinkSocket(
    { tlsOf: () => undefined },
    { secure: false, host: '127.0.0.1', port },
    { secret: secretOf('s'), token: null, ...node },
    {
      clock: systemClock,
      signal: new AbortController().signal,
      opened: (socket) =>
        new Uplink(socket, {
          host: new UplinkHost(systemClock, silentLogger),
          side: 'agent',
          peer: 'server',
          onCall: async ({ method }) => {
            if (method === agentWords.ping) return true
            if (method === agentWords.register) {
              await ask('nodes.register', { spec: specOf(node.name, spec) })
              return true
            }
            return answer(method)
          },
          onStream: () => Promise.reject(new MusterError('not_found', 'no streams')),
          onClose: (reason) => ended.resolve(reason),
        }),
    },
  )
  owner.teardown(() => uplink.close('the test is over'))
  return { uplink, closed: ended.promise, ask }
}
