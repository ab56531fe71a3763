/** The leader looks at draining nodes whenever allocations change, and at deadlines. */
import { chunks } from '../../lib/chunks.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import { nodesPerEntryMax } from '../nodes/model.ts'
import { nodesWithPrefix } from '../nodes/queries.ts'
import { completeDrains, moveAllocations, movedMax, type observe } from './commands.ts'
import { drainingNodes, roomOfGroups } from './queries.ts'
import { drainStep, type DrainStep } from './step-model.ts'

/** Without a change or a deadline. */
const roundMs = 30_000
const retryMs = 500
/** Changes that come faster are looked at together; longer where a look takes long. */
const gapMs = 100
const gapPerLook = 5

type Observer = Parameters<typeof observe>[1]

export function startDrains(
  context: DutyContext & { readonly observe: (observer: Observer) => () => void },
): Running {
  const { clock, log, view, propose } = context
  const draining = new Set<string>()
  let isRead = false
  let lookedForMs = 0
  const unsubscribe = context.observe({
    began: (node) => {
      draining.add(node)
      rounds.wake()
    },
    changed: () => {
      if (draining.size > 0) rounds.wake()
    },
  })
  const rounds = periodic({
    clock,
    log,
    failure: 'drains of nodes could not go on',
    everyMs: roundMs,
    retryMs,
    gapMs: () => Math.max(gapMs, gapPerLook * lookedForMs),
    round: async () => {
      const beganMs = clock.monotonicMs()
      if (!isRead) {
        for (const id of await readDraining(context)) draining.add(id)
        isRead = true
      }
      if (draining.size === 0) return roundMs
      const { step, known } = await look()
      lookedForMs = clock.monotonicMs() - beganMs
      for (const id of draining) if (!known.has(id)) draining.delete(id)
      await carryOut(step)
      return Math.max(0, Math.min(roundMs, step.nextMs - clock.wallMs()))
    },
  })

  function look() {
    return onView(view, async (reader) => {
      const nodes = await drainingNodes(reader, [...draining])
      const step = drainStep(nodes, await roomOfGroups(reader, nodes), clock.wallMs())
      return { step, known: new Set(nodes.map(({ node }) => node.id)) }
    })
  }

  async function carryOut({ move, over }: DrainStep): Promise<void> {
    const nowMs = Math.floor(clock.wallMs())
    for (const { node, ids } of move) {
      for (const some of chunks(ids, movedMax)) {
        await propose(moveAllocations, {
          ids: [...some],
          trigger: 'node-drain',
          nodeId: node,
          nowMs,
        })
      }
      log.info('work is moved away from a draining node', { node, count: ids.length })
    }
    for (const nodes of chunks(over, nodesPerEntryMax)) {
      await propose(completeDrains, { nodes: [...nodes], nowMs })
      for (const { id } of nodes) draining.delete(id)
    }
  }

  return {
    stop() {
      unsubscribe()
      return rounds.stop()
    },
  }
}

function readDraining({ view }: DutyContext): Promise<readonly string[]> {
  return onView(view, async (reader) => {
    const ids: string[] = []
    for await (const page of nodesWithPrefix(reader, '')) {
      for (const { id, drain } of page) if (drain !== null) ids.push(id)
    }
    return ids
  })
}
