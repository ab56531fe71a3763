/**
 * Canaries whose services have other tags or metadata than the rest of their group: a promotion changes nothing of the allocation
 * itself, so the servers' list of what has changed says nothing of it, and they are asked from time to time.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { AllocationRunner } from './allocation-runner.ts'
import type { WorkServers } from './servers.ts'
import { differsAsCanary } from './task-services.ts'

const lookMs = 2_000

export type CanariesOptions = {
  readonly servers: Pick<WorkServers, 'read'>
  readonly held: () => Iterable<AllocationRunner>
  readonly clock: Clock
  readonly log: Logger
}

export class Canaries {
  readonly #options: CanariesOptions
  #running: Running | null = null

  constructor(options: CanariesOptions) {
    this.#options = options
  }

  start(): void {
    const { clock, log } = this.#options
    this.#running ??= periodic({
      clock,
      log,
      failure: 'servers were not asked whether canaries are promoted',
      firstMs: lookMs,
      everyMs: lookMs,
      retryMs: lookMs,
      round: (signal) => this.#look(signal),
    })
  }

  stop(): void {
    void this.#running?.stop()
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { held, servers, log } = this.#options
    const waiting = [...held()].filter(({ isOver, assigned }) => {
      return !isOver && assigned.canary === true && differsAsCanary(assigned.group)
    })
    const ids = waiting.map(({ id }) => id)
    const answers = new Map<string, Assigned>()
    try {
      for await (const allocations of servers.read(ids, signal)) {
        for (const one of allocations) answers.set(one.id, one)
      }
    } catch (error) {
      log.debug('the servers do not say whether canaries are promoted', { error: textOf(error) })
    }
    if (signal.aborted) return
    for (const runner of waiting) {
      const { assigned } = runner
      if (isPromoted(assigned, answers.get(runner.id))) runner.update(withoutCanary(assigned))
    }
  }
}

/** Of a server that knows another state of the allocation nothing is taken: the list of changes tells which is the newer one. */
function isPromoted(known: Assigned, answer: Assigned | undefined): boolean {
  return answer?.allocModifyIndex === known.allocModifyIndex && answer.canary !== true
}

function withoutCanary(assigned: Assigned): Assigned {
  // Of what was told once, nothing is told again.
  const { canary: _, isUnknown: _told, ...rest } = assigned
  return rest
}
