/** Asking every other server of the cluster the same. */
import type { Static, TSchema } from 'typebox'
import type { ServerAnswer } from './agents.ts'
import type { PeerLink } from './link.ts'
import type { PeerMethod } from './method.ts'
import { callPeer } from './peer-call.ts'
import type { ServerDirectory } from './servers.ts'

/** Never rejects: of a server that refuses, or does not answer in time, the reply is null. */
export function askEach<Args extends TSchema, Reply extends TSchema>(
  { servers, link }: { readonly servers: ServerDirectory; readonly link: PeerLink },
  method: PeerMethod<Args, Reply>,
  args: Static<Args>,
  timeoutMs: number,
): Promise<readonly ServerAnswer<Static<Reply>>[]> {
  const others = servers.all().filter(({ id }) => id !== servers.selfId)
  return Promise.all(
    others.map(async (server) => {
      const reply = await callPeer(link, server, method, args, timeoutMs).catch(() => null)
      return { server, reply }
    }),
  )
}
