/** What may be asked about sessions. */
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { invalid, MusterError } from '../../lib/errors.ts'
import { orderedUuid } from '../../lib/ordered-uuid.ts'
import {
  defineLeaderMethod,
  defineQuery,
  type LeaderContext,
  type LeastRight,
  type QueryContext,
  type Requirement,
} from '../../rpc/method.ts'
import { onePage, Page, type Listed, type PageArgs } from '../../rpc/list.ts'
import { mustMay, unknownToken } from '../../rpc/refusal.ts'
import { checkName } from '../catalog/model.ts'
import { checkNamespaceName, defaultNamespace, NamespaceName } from '../namespaces/model.ts'
import {
  createSession,
  endSessions,
  type CreateOutcome,
  type CreateSession,
  type EndSessions,
} from './commands.ts'
import {
  allNamespaces,
  checkLockDelay,
  checkSessionId,
  checkSessionName,
  checkTtl,
  chooseChecks,
  Doubled,
  doubledVersion,
  parseSessionId,
  tokenEndVersion,
  tokenMountVersion,
  type SessionPlace,
  type SessionRow,
} from './model.ts'
import { allSessions, sessionOf, sessionsIndex, sessionsOfNode } from './queries.ts'
import type { Renewed } from './renewals.ts'
import { sessionRenewals } from './services.ts'
import { sessionFilters, shownSession } from './shown.ts'
import { sessions } from './table.ts'
import { leastForSessions } from './topics.ts'

const Place = { namespace: Type.String(), id: Type.String() }
const Texts = Type.Array(Type.String())

const create = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'sessions.create',
  args: Type.Object({
    namespace: Type.String(),
    name: Type.String(),
    node: Type.String(),
    lockDelay: Type.Union([Type.Null(), Type.String(), Type.Number()]),
    behavior: Type.Union([Type.Literal('release'), Type.Literal('delete')]),
    ttl: Type.String(),
    nodeChecks: Type.Union([Type.Null(), Texts]),
    serviceChecks: Type.Union([
      Type.Null(),
      Type.Array(Type.Object({ id: Type.String(), namespace: NamespaceName })),
    ]),
    checks: Type.Union([Type.Null(), Texts]),
    doubled: Doubled,
  }),
  requires: ({ namespace, node }) => requirement({ namespace, node }, 'write'),
  run: async (context, given): Promise<SessionRow> => {
    checkNamespaceName(given.namespace)
    const args: CreateSession = {
      namespace: given.namespace,
      id: orderedUuid(context.clock.wallMs()),
      name: checkSessionName(given.name),
      node: checkName('Node', given.node),
      lockDelayNs: checkLockDelay(given.lockDelay ?? undefined),
      behavior: given.behavior,
      ttl: checkTtl(given.ttl),
      ...chooseChecks(given),
      ...bondOf(context),
      ...(given.doubled === true &&
        context.read().commandVersion >= doubledVersion && { doubled: true }),
    }
    const proposed = await context.propose(createSession, args)
    const row = createdOf(proposed.outcome, args)
    // A token that is stored nowhere may have ended with its login method before the entry was applied.
    if (context.madeUntil?.stands(context.read()) !== false) return row
    const places = [{ namespace: row.namespace, id: row.id }]
    const nowMs = Math.floor(context.clock.wallMs())
    await context.propose(endSessions, { places, nowMs })
    throw unknownToken()
  },
})

/** The token that the session ends with, and when it ends if that is stored nowhere. */
function bondOf(
  context: LeaderContext,
): Pick<CreateSession, 'token' | 'tokenEndMs' | 'tokenMountId'> {
  const { accessor, madeUntil } = context
  if (madeUntil === null) return { token: accessor }
  const { commandVersion } = context.read()
  if (commandVersion < tokenEndVersion) {
    throw new MusterError(
      'not_implemented',
      `sessions of batch tokens need every server at command version ${tokenEndVersion}; the cluster runs at ${commandVersion}`,
    )
  }
  const isEndless = madeUntil.endMs === Infinity
  const { accessor: token, endMs, mountId } = madeUntil
  const hasMount = mountId !== null && commandVersion >= tokenMountVersion
  return {
    token,
    ...(!isEndless && { tokenEndMs: endMs }),
    ...(hasMount && { tokenMountId: mountId }),
  }
}

const read = defineQuery({
  kind: 'query',
  name: 'sessions.read',
  least: leastForSessions,
  args: Type.Object(Place),
  requires: () => ({ resource: 'none' }),
  query: (reader, { namespace, id }, context) => {
    checkNamespaceName(namespace)
    const known = parseSessionId(id)
    const row = known === undefined ? null : sessionOf(reader, { namespace, id: known })
    const index = sessionsIndex(reader)
    return { value: row !== null && mayRead(context, row) ? row : null, index }
  },
})

const list = defineQuery({
  kind: 'query',
  name: 'sessions.list',
  least: leastForSessions,
  long: true,
  args: Type.Object({ ...Page, namespace: Type.String() }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { namespace, ...page }, context) => {
    if (namespace !== allNamespaces) checkNamespaceName(namespace)
    const value = await visible(allSessions(reader, namespace), page, context)
    return { value, index: sessionsIndex(reader) }
  },
})

const ofNode = defineQuery({
  kind: 'query',
  name: 'sessions.ofNode',
  least: leastForSessions,
  long: true,
  args: Type.Object({ ...Page, namespace: Type.String(), node: Type.String() }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, args, context) => {
    const { namespace, node, ...page } = args
    if (namespace !== allNamespaces) checkNamespaceName(namespace)
    checkName('the node', node)
    const value = await visible(sessionsOfNode(reader, node, namespace), page, context)
    return {
      value: { ...value, filtered: value.filtered || isHidden(args, context) },
      index: sessionsIndex(reader),
    }
  },
})

const renew = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'sessions.renew',
  args: Type.Object(Place),
  requires: () => ({ resource: 'none' }),
  run: async (context, args): Promise<Renewed> => {
    const place = placeOf(args)
    assertMayWrite(context, place)
    return context.service(sessionRenewals).renew(place)
  },
})

const destroy = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'sessions.destroy',
  args: Type.Object(Place),
  requires: () => ({ resource: 'none' }),
  run: async (context, args): Promise<{ readonly found: boolean }> => {
    const place = placeOf(args)
    assertMayWrite(context, place)
    const end: EndSessions = { places: [place], nowMs: Math.floor(context.clock.wallMs()) }
    const { outcome } = await context.propose(endSessions, end)
    return { found: outcome.ended.length > 0 }
  },
})

const leastToWrite: readonly LeastRight[] = [{ resource: 'session', access: 'write' }]

export const sessionMethods = { create, read, list, ofNode, renew, destroy }

function placeOf({ namespace, id }: SessionPlace): SessionPlace {
  checkNamespaceName(namespace)
  return { namespace, id: checkSessionId(id) }
}

function requirement(
  { namespace, node }: Pick<SessionRow, 'namespace' | 'node'>,
  access: 'read' | 'write',
): Requirement {
  return { resource: 'session', namespace, node, access }
}

/** Without a token it is said of every node that is hidden: nobody is told so which of them have sessions, or are there. */
function isHidden(
  { namespace, node }: Pick<SessionRow, 'namespace' | 'node'>,
  context: QueryContext,
): boolean {
  if (context.caller.token !== null) return false
  const place = { namespace: namespace === allNamespaces ? defaultNamespace : namespace, node }
  return !context.may(requirement(place, 'read'))
}

function mayRead(context: QueryContext, row: SessionRow): boolean {
  return context.may(requirement(row, 'read'))
}

/**
 * By the session's node. That a session is over is told to all who may write some: its holder, who has no more than its
 * own node, learns it from no other answer. Who may write none anywhere is told no more than of one that is there.
 */
function assertMayWrite(context: LeaderContext, place: SessionPlace): void {
  const row = sessionOf(context.read(), place)
  if (row === null && context.maySeeSome(leastToWrite)) return
  const node = row?.node ?? ''
  const needed = requirement({ namespace: place.namespace, node }, 'write')
  mustMay(context, needed, "'session:write' on the session's node")
}

function visible(
  pages: AsyncIterable<readonly SessionRow[]>,
  { prefix, filter, ...page }: PageArgs & { readonly prefix: string; readonly filter: string },
  context: QueryContext,
): Promise<Listed<SessionRow>> {
  const start = prefix.toLowerCase()
  return onePage(context, page, {
    pages,
    keyOf: sessions.key,
    show: (row, may) => (row.id.startsWith(start) && may(requirement(row, 'read')) ? row : null),
    filter: sessionFilters.compile(filter),
    recordOf: (row) => ({ ...shownSession(row), Namespace: row.namespace }),
  })
}

function createdOf(outcome: CreateOutcome, { namespace, node }: CreateSession): SessionRow {
  switch (outcome.type) {
    case 'created':
      return outcome.row
    case 'tokenIsGone':
      throw unknownToken()
    case 'unknownNamespace':
      throw invalid(
        `namespace ${JSON.stringify(namespace)} does not exist: create it with PUT /v1/namespace/${namespace}`,
      )
    case 'othersEnd':
      throw new MusterError(
        'unavailable',
        `sessions on node ${JSON.stringify(node)} that ended before the restore are still being removed: try again`,
      )
    case 'unknownNode':
      throw invalid(`Node ${JSON.stringify(node)} is not registered`)
    case 'unknownCheck':
      throw invalid(`Missing check ${JSON.stringify(outcome.id)} on node ${JSON.stringify(node)}`)
    case 'criticalCheck':
      // Not for ever: the same may be asked again.
      throw new MusterError('conflict', `Check ${JSON.stringify(outcome.id)} is in critical state`)
    default:
      return assertNever(outcome)
  }
}
