/**
 * The way of this agent's services into the catalog: reads of a fresh enough state, and updates at the leader, wherever it
 * is. Among servers, who know each other: the agent has checked the permission of the client that registered.
 */
import { agentUpdateMethod } from '../domains/local-services/peer-methods.ts'
import {
  applyAgentUpdate,
  heldOf,
  type AgentUpdate,
  type CatalogLink,
  type HeldPart,
} from '../domains/local-services/sync.ts'
import type { NodeSpec } from '../domains/catalog/model.ts'
import { onView } from '../domains/host.ts'
import type { Reader } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Consensus } from '../rpc/consensus.ts'
import { Forwarder } from '../rpc/forward.ts'
import type { PeerLink } from '../rpc/link.ts'
import type { Propose } from '../rpc/write.ts'

/** What takes longer is tried again later. */
const callMs = 10_000
const noLeaderMs = 2_000

export type ServerCatalogLinkOptions = {
  readonly consensus: Consensus
  readonly link: PeerLink
  readonly view: () => Reader & { close(): void }
  readonly propose: Propose
  readonly clock: Clock
}

export class ServerCatalogLink implements CatalogLink {
  readonly #options: ServerCatalogLinkOptions
  readonly #forwarder: Forwarder
  readonly #abort = new AbortController()

  constructor(options: ServerCatalogLinkOptions) {
    this.#options = options
    const { consensus, link, clock } = options
    this.#forwarder = new Forwarder({ consensus, link, sent: null, clock, noLeaderMs })
  }

  stop(): void {
    this.#abort.abort()
  }

  async held(node: string): Promise<HeldPart> {
    const { consensus, view, clock } = this.#options
    await consensus.readBarrier('leader', clock.monotonicMs() + noLeaderMs, this.#abort.signal)
    return onView(view, (reader) => heldOf(reader, node))
  }

  announce(node: NodeSpec): Promise<void> {
    const registration = { node, skipNodeUpdate: false, service: null, checks: [] }
    return this.send({ type: 'register', registration })
  }

  async send(update: AgentUpdate): Promise<void> {
    await this.#forwarder.run({
      method: agentUpdateMethod.name,
      args: update,
      caller: { token: null, remote: '', requestId: agentUpdateMethod.name },
      deadlineMs: this.#options.clock.monotonicMs() + callMs,
      signal: this.#abort.signal,
      here: () => applyAgentUpdate(update, this.#options),
      // What is not confirmed is compared and sent anew.
      repeatable: false,
    })
  }
}
