/**
 * One run: a seed's world in trouble, then healed and made to come together, then judged as a whole.
 */
import { textOf } from '../../src/lib/errors.ts'
import { checkLinearizability } from './checkers/linearizability.ts'
import type { Violation } from './checkers/rule.ts'
import { Client, Clients } from './clients.ts'
import { Faults } from './faults.ts'
import { calm, planOf, type Corner, type Plan } from './plan.ts'
import type { SimServer } from './server.ts'
import { World } from './world.ts'

export type Run = {
  readonly seed: number
  readonly violation: Violation | null
  /** The newest events; empty when a sink had them all. */
  readonly lastEvents: readonly string[]
  readonly counts: ReadonlyMap<string, number>
  readonly simulatedMs: number
  readonly events: number
}

/** Healed clusters come together within this many election timeouts. */
const healingElectionsMax = 40
const healingMsMin = 6_000
const lastEventsMax = 120
/** Histories here are short; one that takes more has many unknown outcomes, and is left undecided. */
const effortMax = 300_000

export async function runSeed(
  seed: number,
  options: {
    readonly servers?: number | null
    readonly corner?: Corner | null
    readonly sink?: (line: string) => void
    /** For experiments with one kind of trouble. */
    readonly adjust?: (plan: Plan) => Plan
  } = {},
): Promise<Run> {
  const drawn = planOf(seed, options.servers ?? null, options.corner ?? null)
  const plan = options.adjust?.(drawn) ?? drawn
  const world = new World(plan, options.sink ?? null)
  world.trace.add(() => `seed ${seed}: ${JSON.stringify(plan)}`)
  const onRejection = (error: unknown) => {
    world.report({ rule: 'no promise is forgotten', text: stackOf(error) })
  }
  process.on('unhandledRejection', onRejection)
  try {
    await live(world)
  } catch (error) {
    world.report({ rule: 'the simulated world goes on', text: stackOf(error) })
  } finally {
    process.off('unhandledRejection', onRejection)
  }
  world.count('messages', world.network.sentCount)
  return {
    seed,
    violation: world.violation,
    lastEvents: world.trace.last(lastEventsMax),
    counts: world.counts,
    simulatedMs: world.scheduler.nowMs,
    events: world.scheduler.eventCount,
  }
}

async function live(world: World): Promise<void> {
  const { plan, scheduler, network, trace } = world
  const clients = new Clients(world)
  const faults = new Faults(world)
  world.begin()
  clients.begin()
  // A little quiet first, in some runs, so that there is something to break.
  scheduler.after(plan.seed % 3 === 0 ? 0 : plan.timing.electionMs * 4, () => faults.begin())
  await scheduler.run(plan.troubleMs)
  if (world.violation !== null) return

  trace.add(() => 'everything is mended')
  world.healing = true
  world.quiet = false
  world.suspect = null
  faults.stop()
  clients.stop()
  network.weather = calm(plan.weather)
  const deadlineMs =
    scheduler.nowMs + Math.max(healingMsMin, plan.timing.electionMs * healingElectionsMax)
  const healed = await comeTogether(world, clients, deadlineMs)
  if (world.violation !== null) return
  if (!healed) {
    world.report({ rule: 'a healed cluster makes progress', text: describe(world) })
    return
  }
  world.judges.atEnd(membersOf(world))
  judgeHistory(world, clients)
}

/** True once a write went through after the healing and every member has applied it and all before it. */
async function comeTogether(world: World, clients: Clients, deadlineMs: number): Promise<boolean> {
  const { scheduler } = world
  const prober = new Client(world, 'prober', clients.history)
  let written = false
  let asking = false
  const probe = async () => {
    asking = true
    const callMs = scheduler.nowMs
    const action = await prober.put('k1')
    clients.history.push({
      ...action,
      client: 'prober',
      key: 'k1',
      callMs,
      returnMs: scheduler.nowMs,
    })
    written = action.outcome.type === 'ok'
    asking = false
  }
  while (scheduler.nowMs < deadlineMs && world.violation === null) {
    await scheduler.run(scheduler.nowMs + 25)
    for (const server of world.servers.values()) server.start()
    if (!clients.idle || asking) continue
    if (!written) void probe()
    else if (isEven(world)) return true
  }
  return false
}

function isEven(world: World): boolean {
  const status = world.leader?.status
  if (status === null || status === undefined) return false
  if (status.commitIndex < status.lastIndex) return false
  const members = membersOf(world)
  return (
    members.length > 0 &&
    members.every((server) => server.status?.appliedIndex === status.lastIndex)
  )
}

function membersOf(world: World): SimServer[] {
  const members = world.leader?.status?.configuration.members ?? []
  return members.map(({ id }) => world.server(id))
}

function judgeHistory(world: World, clients: Clients): void {
  const verdict = checkLinearizability(clients.history, { effortMax })
  if (verdict.type === 'undecided') world.count('histories undecided')
  if (verdict.type !== 'violation') return
  world.report({ rule: 'linearizability', text: verdict.explanation })
}

function describe(world: World): string {
  const lines = [...world.servers.values()].map(({ id, status, up }) => {
    if (status === null) return `${id} ${up ? 'starting' : 'down'}`
    const { role, term, leaderId, lastIndex, commitIndex, appliedIndex, configuration } = status
    const members = configuration.members.map((m) => (m.role === 'voter' ? m.id : `${m.id}?`))
    return `${id} ${role} t${term} of ${leaderId} last ${lastIndex} commit ${commitIndex} applied ${appliedIndex} of [${members.join(' ')}]`
  })
  return `no progress by ${world.scheduler.nowMs.toFixed(0)} ms:\n  ${lines.join('\n  ')}`
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : textOf(error)
}
