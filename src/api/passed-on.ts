/**
 * Requests that a client agent passes on. The agent says whose request each is, by the address of its own client, and proves with
 * its own token that it is an agent: to the server the request is that client's then. Without the proof the words count for nothing, and
 * the request is whose connection it came on.
 */
import { BlockList, isIP } from 'node:net'
import { addressOf } from '../lib/client-address.ts'
import { isLoopbackAddress } from '../lib/host-port.ts'
import type { RequestHeaders } from './headers.ts'

/** In lower case, as Node gives header names. */
const callerHeader = 'x-service-caller'
const agentHeader = 'x-service-agent'
const agentTokenHeader = 'x-service-agent-token'

/** What an agent never passes on of its own clients' headers. */
export const passedOnHeaders: readonly string[] = [callerHeader, agentHeader, agentTokenHeader]

export type Agent = {
  /** Name of its node. */
  readonly node: string
  /** The secret of its token. Never logged. */
  readonly token: string
}

export type ShownAgent = Agent & {
  /** The address that it connected from. */
  readonly remote: string
  readonly requestId: string
}

/** Whether this is an agent of the cluster. Does not reject. */
export type KnowsAgent = (agent: ShownAgent) => boolean | Promise<boolean>

/** What the agent says of a request of `remote`: nothing where the client is on the agent's own machine, whose address counts then. */
export function headersOfAgent({ node, token }: Agent, remote: string): Record<string, string> {
  if (!isSaid(remote)) return {}
  return {
    [callerHeader]: remote,
    // A node's name may have letters that a header may not.
    [agentHeader]: encodeURIComponent(node.toWellFormed()),
    [agentTokenHeader]: token,
  }
}

export type PassedOn = { readonly caller: string; readonly agent: Agent }

/** null: nothing that an agent would say. */
export function passedOnIn(headers: RequestHeaders): PassedOn | null {
  const caller = headers[callerHeader]
  if (typeof caller !== 'string') return null
  const { [agentHeader]: node, [agentTokenHeader]: token } = headers
  if (typeof node !== 'string' || typeof token !== 'string') return null
  const name = decoded(node)
  if (!isSaid(caller) || token === '' || name === null) return null
  return { caller: addressOf(caller.toLowerCase()), agent: { node: name, token } }
}

type Heard = {
  readonly request: { readonly headers: RequestHeaders }
  readonly requestId: string
  /** Whose request it is. */
  remote: string
}

/** Believes an agent that is one. Null: there is nothing to wait for. */
export function hearAgent(knowsAgent: KnowsAgent | undefined, heard: Heard): Promise<void> | null {
  const passedOn = knowsAgent === undefined ? null : passedOnIn(heard.request.headers)
  if (knowsAgent === undefined || passedOn === null) return null
  const { remote, requestId } = heard
  const hear = (isKnown: boolean): void => {
    if (isKnown) heard.remote = passedOn.caller
  }
  const known = knowsAgent({ ...passedOn.agent, remote, requestId })
  if (known instanceof Promise) return known.then(hear)
  hear(known)
  return null
}

/**
 * Addresses that mean something elsewhere. The loopback of an agent's machine is not that of the server, where a token may be bound to
 * it, and a link-local address is known on one link.
 */
function isSaid(address: string): boolean {
  const plain = addressOf(address.toLowerCase())
  const version = isIP(plain)
  if (version === 0 || plain.includes('%')) return false
  return !isLoopbackAddress(plain) && !linkLocal.check(plain, version === 4 ? 'ipv4' : 'ipv6')
}

const linkLocal = new BlockList()
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4')
linkLocal.addSubnet('fe80::', 10, 'ipv6')

function decoded(text: string): string | null {
  try {
    return text === '' ? null : decodeURIComponent(text)
  } catch {
    return null
  }
}
