/**
 * How a client agent gets its node: it registers the node itself, with its token, and the leader asks back at the gossip
 * address that the node names before it believes. Members of the gossip pool that do not register have no node.
 */
import { Type } from 'typebox'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod } from '../../rpc/method.ts'
import { gossipEndpointOf } from './agent-node-model.ts'
import {
  checkNode,
  keyOfName,
  membershipCheck,
  membershipCheckId,
  membershipOutputs,
  NodeSpec,
  sameRecord,
} from './model.ts'
import { checkOf, nodeOf } from './queries.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { assertRegistered, writesNode } from './register-methods.ts'
import type { RegisterOutcome } from './commands.ts'
import type { Answers } from './witness.ts'

/** New nodes of client agents that the leader takes in within a second; the others try again. */
export const newAgentsPerSecondMax = 100
/** Agents that are asked back at once. */
export const asksBackMax = 64
const secondMs = 1_000

export type AgentAdmissionOptions = {
  readonly answers: Answers
  /** Whether a server of the cluster has this name or this id. */
  readonly isServer: (node: { readonly id: string; readonly name: string }) => boolean
  readonly clock: Clock
}

export type AgentAdmissionMethods = ReturnType<typeof agentAdmissionMethods>

export function agentAdmissionMethods(options: AgentAdmissionOptions) {
  const admission = new Admission(options)

  const registerAgent = defineLeaderMethod({
    kind: 'leader',
    name: 'catalog.registerAgent',
    args: Type.Object({ node: NodeSpec }),
    // Judged by the node's name, in the letters that its key has.
    requires: () => ({ resource: 'none' }),
    run: async (context, args): Promise<{ readonly index: number }> => {
      mustMay(context, writesNode(args.node.name))
      const node = checkNode(args.node)
      const { id } = node
      const endpoint = gossipEndpointOf(node)
      if (id === null || endpoint === null) {
        const text = 'an agent registers its node with ID and NodeMeta.muster-gossip, an ip:port'
        throw new MusterError('invalid_argument', text)
      }
      if (options.isServer({ id, name: node.name })) {
        throw new MusterError('conflict', `a server of the cluster is called ${node.name}`)
      }
      const reader = context.read()
      const known = nodeOf(reader, node.name)
      const check = checkOf(reader, node.name, membershipCheckId)
      if (known !== null && known.id !== id && check !== null && check.status !== 'critical') {
        assertRegistered(
          { type: 'nameTaken', id: known.id ?? '' },
          { node, skipNodeUpdate: false, service: null, checks: [] },
        )
      }
      const stands = known !== null && sameRecord(known, { ...known, ...node, name: known.name })
      if (stands && check !== null && check.status === 'passing')
        return { index: known.modifyIndex }
      await admission.admit({ endpoint, id, isNew: known?.id !== id })
      const registration = {
        node,
        skipNodeUpdate: false,
        service: null,
        checks: [membershipCheck('passing', membershipOutputs.alive)],
      }
      const { index, outcome } = await context.propose({
        type: 'catalog.register',
        args: { ...registration, nowMs: Math.floor(context.clock.wallMs()) },
      })
      assertRegistered(outcome as RegisterOutcome, registration)
      context.log.info('a client agent has its node', { node: keyOfName(node.name) })
      return { index }
    },
  })

  return { registerAgent }
}

/** Asks new agents back, at bounded rates. */
export class Admission {
  readonly #options: Pick<AgentAdmissionOptions, 'answers' | 'clock'>
  #asking = 0
  #secondMs = -Infinity
  #taken = 0

  constructor(options: Pick<AgentAdmissionOptions, 'answers' | 'clock'>) {
    this.#options = options
  }

  /** Throws `overloaded` at a bound, and `unavailable` when the agent does not answer where it says that it is. */
  async admit(agent: {
    readonly endpoint: string
    readonly id: string
    readonly isNew: boolean
  }): Promise<void> {
    if (agent.isNew) this.#count()
    if (this.#asking >= asksBackMax) {
      throw new MusterError('overloaded', `${asksBackMax} agents are being asked back: try again`)
    }
    this.#asking += 1
    try {
      if ((await this.#options.answers(agent.endpoint, agent.id)) === true) return
    } finally {
      this.#asking -= 1
    }
    throw new MusterError(
      'unavailable',
      `no agent with ID ${agent.id} answers gossip at ${agent.endpoint}: it must be reached there by the servers`,
    )
  }

  #count(): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - this.#secondMs >= secondMs) {
      this.#secondMs = nowMs
      this.#taken = 0
    }
    if (this.#taken >= newAgentsPerSecondMax) {
      const text = `${newAgentsPerSecondMax} new agents came within a second: try again`
      throw new MusterError('overloaded', text)
    }
    this.#taken += 1
  }
}
