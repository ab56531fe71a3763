/**
 * A write that goes to the leader by way of another server: one that is not answered is sent again or answered from that
 * server's own state, as `rpc/forward.ts` does it with the same `SentWrites`.
 */
import { MusterError } from '../../src/lib/errors.ts'
import type { Applied } from '../../src/raft/waiters.ts'
import { encodeCommand, type Command } from './commands.ts'
import { digestOf } from './observed-log.ts'
import type { SimServer } from './server.ts'
import type { Reply, World } from './world.ts'

/** Leaders that one write is sent to. */
const attemptsMax = 4
const unending = new AbortController().signal

/** Both ways of a write may have to be waited for, and what became of it. */
const patience = 4

export function forward(
  world: World,
  server: SimServer,
  command: Command,
): Promise<Reply<Applied>> {
  return world.request(server, world.plan.patienceMs * patience, async ({ running }) => {
    if (running === null) throw new Error('a request reaches running servers only')
    const { node, sent, life } = running
    const clock = world.scheduler.clockOf(life)
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const { leaderId, term } = node.status()
      const leader = leaderId === null ? undefined : world.servers.get(leaderId)
      const write = sent.begin()
      if (leader === undefined || leader === server || write === null) throw notLeader()
      const data = encodeCommand({ ...command, name: write.name })
      try {
        const reply = await world.request(leader, world.plan.patienceMs, ({ running: there }) => {
          if (there === null) throw new Error('a request reaches running servers only')
          return there.node.propose(data, { term })
        })
        if (!life.alive) throw notLeader()
        if (reply.type === 'ok') return acknowledged(world, data, reply.value)
        if (reply.type === 'error' && reply.code !== 'outcome_unknown') {
          throw new MusterError(reply.code, 'it surely did nothing')
        }
        const deadlineMs = clock.monotonicMs() + world.plan.patienceMs
        const fate = await write.fate(term, deadlineMs, unending)
        world.count(`forwarded and ${fate.type}`)
        if (fate.type === 'unknown') throw new MusterError('outcome_unknown', 'nobody knows')
        const [part] = fate.type === 'applied' ? fate.parts : []
        if (part !== undefined) return acknowledged(world, data, part)
      } finally {
        write.end()
      }
    }
    throw notLeader()
  })
}

function acknowledged(world: World, data: Uint8Array, { index, outcome }: Applied): Applied {
  world.judges.writes.acknowledged(index, digestOf({ kind: 'command', data }))
  return { index, outcome }
}

function notLeader(): MusterError {
  return new MusterError('not_leader', 'there is no other leader to ask')
}
