/**
 * Changes of the catalog. What is lost with a change (a check that turns critical, a node that goes) is a fact that later
 * domains react to in the same entry.
 */
import { Type, type Static } from 'typebox'
import type { Applied, ApplyContext } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, TimeMs } from '../define.ts'
import { CatalogDraft } from './draft-commands.ts'
import {
  CheckOutput,
  CheckSpec,
  CheckStatus,
  membershipCheck,
  membershipCheckId,
  Name,
  NodeSpec,
  registeredChecksMax,
  ServiceSpec,
} from './model.ts'

/** The command version from which on nodes without a membership check do not count as living. */
const externalNodesVersion = 17

/** Members that one entry may speak of. */
export const membersPerEntryMax = 256

export const Registration = Type.Object({
  node: NodeSpec,
  /** The node stays as it is if there is one. */
  skipNodeUpdate: Type.Boolean(),
  service: Type.Union([Type.Null(), ServiceSpec]),
  checks: Type.Immutable(Type.Array(CheckSpec, { maxItems: registeredChecksMax })),
})

export const Deregistration = Type.Object({
  node: Name,
  /** At most one of these two; neither: the whole node. */
  serviceId: Type.Union([Type.Null(), Name]),
  checkId: Type.Union([Type.Null(), Name]),
})

const Present = Type.Object({
  type: Type.Literal('present'),
  node: NodeSpec,
  status: CheckStatus,
  output: CheckOutput,
})

const Gone = Type.Object({
  type: Type.Literal('gone'),
  name: Name,
  /** A node that has the name by now under another id stays. */
  id: Name,
})

const Members = Type.Object({
  members: Type.Immutable(
    Type.Array(Type.Union([Present, Gone]), { maxItems: membersPerEntryMax }),
  ),
  nowMs: TimeMs,
})

export type Registration = Static<typeof Registration>
export type Deregistration = Static<typeof Deregistration>
export type MemberUpdate = Static<typeof Present> | Static<typeof Gone>

export type RegisterOutcome =
  | { readonly type: 'registered' }
  | { readonly type: 'noAddress' }
  | { readonly type: 'unknownService'; readonly check: string; readonly service: string }
  /** A living node of another id has the name. */
  | { readonly type: 'nameTaken'; readonly id: string }

export type DeregisterOutcome = { readonly type: 'deregistered' }

type Drafted<Outcome> = { readonly draft: CatalogDraft; readonly outcome: Outcome }

export const registerNode = defineCommand({
  type: 'catalog.register',
  args: Type.Object({ ...Registration.properties, nowMs: TimeMs }),
  load: async (reader, args): Promise<Drafted<RegisterOutcome>> => {
    const draft = new CatalogDraft(reader)
    const outcome = await register(draft, args)
    // A refusal leaves nothing behind, whatever was put together before it.
    const isRefused = outcome.type !== 'registered'
    return { draft: isRefused ? new CatalogDraft(reader) : draft, outcome }
  },
  apply: applyDraft,
})

export const deregisterNode = defineCommand({
  type: 'catalog.deregister',
  args: Type.Object({ ...Deregistration.properties, nowMs: TimeMs }),
  load: async (reader, { node, serviceId, checkId }): Promise<Drafted<DeregisterOutcome>> => {
    const draft = new CatalogDraft(reader)
    if (serviceId !== null) await draft.removeService(node, serviceId)
    else if (checkId !== null) draft.removeCheck(node, checkId)
    else await draft.removeNode(node)
    return { draft, outcome: { type: 'deregistered' } }
  },
  apply: applyDraft,
})

/** What the leader hears of members: their nodes, and the check that says whether they live. */
export const updateMembers = defineCommand({
  type: 'catalog.members',
  args: Members,
  load: async (reader, { members }): Promise<Drafted<null>> => {
    const draft = new CatalogDraft(reader)
    for (const member of members) await updateMember(draft, member)
    return { draft, outcome: null }
  },
  apply: applyDraft,
})

export const catalogCommands = commandsByType([registerNode, deregisterNode, updateMembers])

function applyDraft<Outcome>(
  { index }: ApplyContext,
  { nowMs }: { readonly nowMs: number },
  { draft, outcome }: Drafted<Outcome>,
): Applied<Outcome> {
  return { changes: draft.changes(index), outcome, happened: { nowMs, facts: draft.facts() } }
}

/** Changes the draft also where it refuses: who goes on with it undoes that. */
export async function register(draft: CatalogDraft, args: Registration): Promise<RegisterOutcome> {
  const { node, skipNodeUpdate, service, checks } = args
  const known = draft.node(node.name)
  if (known === null || !skipNodeUpdate) {
    if (node.address === '') return { type: 'noAddress' }
    const takenBy = known === null || known.id === node.id ? null : known.id
    if (takenBy !== null && node.id !== null && isLiving(draft, node.name))
      return { type: 'nameTaken', id: takenBy }
    await putNode(draft, { ...node, id: node.id ?? known?.id ?? null })
  }
  const name = draft.node(node.name)?.name ?? node.name
  if (service !== null) await draft.putService(name, service)
  for (const check of checks) {
    const { serviceId } = check
    if (serviceId !== '' && draft.service(name, serviceId) === null) {
      return { type: 'unknownService', check: check.id, service: serviceId }
    }
    draft.putCheck(name, check)
  }
  return { type: 'registered' }
}

/** Of a node without a membership check there is no agent: whoever registers it may give it another id. */
function isLiving(draft: CatalogDraft, name: string): boolean {
  const check = draft.check(name, membershipCheckId)
  if (check === null) return draft.commandVersion < externalNodesVersion
  return check.status !== 'critical'
}

/** An id that comes under another name takes its node with it: the old one goes with all that is on it. */
async function putNode(draft: CatalogDraft, node: NodeSpec): Promise<void> {
  const known = draft.node(node.name)
  if (node.id !== null) {
    const before = await draft.nodeById(node.id)
    if (before !== null && before.name !== known?.name) await draft.removeNode(before.name)
  }
  draft.putNode({ ...node, name: known?.name ?? node.name })
}

async function updateMember(draft: CatalogDraft, member: MemberUpdate): Promise<void> {
  if (member.type === 'gone') {
    const known = draft.node(member.name)
    if (known !== null && (known.id === null || known.id === member.id)) {
      await draft.removeNode(member.name)
    }
    return
  }
  const { node, status, output } = member
  await putNode(draft, node)
  const name = draft.node(node.name)?.name ?? node.name
  draft.putCheck(name, membershipCheck(status, output))
}
