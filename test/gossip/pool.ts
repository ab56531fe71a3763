/** Members on sockets of this machine for tests, ours and serf's, and what each sees of the other. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { systemRandom } from '../../src/lib/random.ts'
import {
  lanProfile,
  type GossipEvent,
  type GossipNode,
  type GossipOptions,
} from '../../src/gossip/gossip.ts'
import { createGossip } from '../../src/gossip/node.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { startSerf, type SerfAgent } from './wire/serf-agent.ts'

export const patience = { timeoutMs: 20_000, everyMs: 50 }

export type TestNode = GossipNode & {
  /** Types of events with the member's name, in order: `member-joined b`. */
  readonly heard: string[]
}

/** A started member on loopback, stopped at the end of the test, which fails when an invariant breaks. */
export async function startNode(
  t: Test,
  name: string,
  options: Partial<GossipOptions> = {},
): Promise<TestNode> {
  const node = createGossip({
    name,
    tags: new Map([['role', 'muster']]),
    bindAddress: '127.0.0.1',
    bindPort: 0,
    advertise: null,
    joinPort: 4648,
    keys: [],
    label: '',
    profile: lanProfile,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    onFatal: (error) => t.fail(`the node ${name} stopped over a defect`, { error }),
    ...options,
  })
  const heard: string[] = []
  node.onEvent((event: GossipEvent) => {
    heard.push(`${event.type} ${'member' in event ? event.member.name : event.name}`)
  })
  await node.start()
  t.teardown(() => node.stop())
  return Object.assign(node, { heard })
}

export async function startAgent(
  t: Test,
  name: string,
  options: Parameters<typeof startSerf>[1] = {},
): Promise<SerfAgent> {
  const agent = await startSerf(name, options)
  t.teardown(() => agent.stop())
  await eventuallyTrue(
    `the serf agent ${name}`,
    async () => (await serf(agent, 'info')) !== '',
    patience,
  )
  return agent
}

/** `a alive, b failed`, sorted by name. */
export function seenBy(node: GossipNode): string {
  return listed(node.members().map(({ name, status }) => [name, status] as const))
}

/** As `seenBy`, by a serf agent. */
async function seenBySerf(agent: SerfAgent): Promise<string> {
  return listed((await serfMembers(agent)).map(({ name, status }) => [name, status] as const))
}

/** Waits until a member of ours sees this. */
export async function sees(node: GossipNode, expected: string): Promise<void> {
  const probe = (): true => {
    const seen = seenBy(node)
    if (seen !== expected) throw new Error(`it sees ${seen}`)
    return true
  }
  await eventually(`${node.name} sees ${expected}`, probe, patience)
}

/** As `sees`, for a serf agent. */
export async function serfSees(agent: SerfAgent, expected: string): Promise<void> {
  await eventuallyTrue(
    `serf sees ${expected}`,
    async () => (await seenBySerf(agent)) === expected,
    patience,
  )
}

type SerfMember = {
  readonly name: string
  readonly status: string
  readonly tags: Readonly<Record<string, string>>
}

export async function serfMembers(agent: SerfAgent): Promise<readonly SerfMember[]> {
  const { members } = JSON.parse(await serf(agent, 'members', '-format=json')) as {
    readonly members: readonly SerfMember[]
  }
  return members
}

/** Runs a command of serf against an agent and returns what it printed. */
export async function serf(
  agent: SerfAgent,
  command: string,
  ...words: readonly string[]
): Promise<string> {
  const run = promisify(execFile)
  const { stdout } = await run('serf', [command, `-rpc-addr=${agent.rpcAddress}`, ...words])
  return stdout
}

function listed(members: readonly (readonly [string, string])[]): string {
  return members
    .map(([name, status]) => `${name} ${status}`)
    .sort()
    .join(', ')
}
