/**
 * Changes of sessions. Whether a session's node and checks are there and well is decided in the entry that creates it,
 * so a check that turns critical at the same time either refuses the session or ends it.
 */
import { Type, type Static } from 'typebox'
import type { Applied, Reader } from '../../fsm/domain.ts'
import { hasMarks } from '../../fsm/fact.ts'
import { tokenByAccessor } from '../acl/queries.ts'
import { checkOf, nodeOf } from '../catalog/queries.ts'
import { keyOfName, type CheckRow } from '../catalog/model.ts'
import { commandsByType, defineCommand, insert, TimeMs } from '../define.ts'
import { namespaces } from '../namespaces/table.ts'
import { endingsIn } from './ended-queries.ts'
import { endOf } from './ending-commands.ts'
import {
  Doubled,
  isMembershipCheck,
  membershipCheck,
  namedChecks,
  SessionPlace,
  SessionSpec,
  SessionToken,
  TokenEndMs,
  TokenMountId,
  stretchMax,
  type SessionRow,
} from './model.ts'
import { sessionOf } from './queries.ts'
import { sessions } from './table.ts'

/** Sessions of one `sessions.end`. */
export const endedMax = 256
/** Sessions of one `sessions.renew`. */
export const renewedMax = 4_096

const Create = Type.Object({
  ...SessionPlace.properties,
  ...SessionSpec.properties,
  token: SessionToken,
  tokenEndMs: TokenEndMs,
  tokenMountId: TokenMountId,
  doubled: Doubled,
})

const End = Type.Object({
  places: Type.Array(SessionPlace, { maxItems: endedMax }),
  nowMs: TimeMs,
})

const Renew = Type.Object({
  places: Type.Array(SessionPlace, { maxItems: renewedMax }),
  /** Each lives for so many times its time to live from here on. */
  stretch: Type.Integer({ minimum: 1, maximum: stretchMax }),
})

export type CreateSession = Readonly<Static<typeof Create>>
export type EndSessions = {
  readonly places: readonly SessionPlace[]
  readonly nowMs: number
}
export type RenewSessions = Static<typeof Renew>

export type CreateOutcome =
  | { readonly type: 'created'; readonly row: SessionRow }
  /** The token that asked is revoked by now, and with it all that was made with it. */
  | { readonly type: 'tokenIsGone' }
  /** It would be taken for one that ended: a mark of a restored archive, of an index that is still to come, is there. */
  | { readonly type: 'othersEnd' }
  | { readonly type: 'unknownNamespace' }
  | { readonly type: 'unknownNode' }
  | { readonly type: 'unknownCheck'; readonly id: string }
  | { readonly type: 'criticalCheck'; readonly id: string }

/** Those that were there to end. */
export type EndOutcome = { readonly ended: readonly string[] }

/** Position by position: the session, null when it is not there. */
export type RenewOutcome = { readonly renewed: readonly (SessionRow | null)[] }

/** The check that a session's word for it means on a node, in any letter case. */
function namedCheck(reader: Reader, node: string, id: string): CheckRow | null {
  return (
    checkOf(reader, node, id) ??
    (isMembershipCheck(id) ? checkOf(reader, node, membershipCheck) : null)
  )
}

export const createSession = defineCommand({
  type: 'sessions.create',
  args: Create,
  // A promise only where there is a token: without, an entry costs no turn.
  load: (reader, args) => {
    const checks = namedChecks(args).map((id) => ({
      id,
      check: namedCheck(reader, args.node, id),
    }))
    const boundChecks = checks.flatMap(({ check }) => (check === null ? [] : [keyOfName(check.id)]))
    const { node, token, tokenMountId } = args
    const createIndex = reader.appliedIndex
    const loaded = {
      tokenIsGone: false,
      othersEnd:
        hasMarks(reader) &&
        endingsIn(reader)({ node, boundChecks, token, tokenMountId, createIndex }) !== null,
      hasNamespace: reader.get(namespaces, [args.namespace]) !== undefined,
      node: nodeOf(reader, args.node),
      checks,
      boundChecks: [...new Set(boundChecks)],
    }
    if (args.token === null) return loaded
    return tokenByAccessor(reader, args.token).then((row) => ({
      ...loaded,
      tokenIsGone: row === null,
    }))
  },
  apply: ({ index }, args, loaded): Applied<CreateOutcome> => {
    const { tokenIsGone, othersEnd, hasNamespace, node, checks, boundChecks } = loaded
    const refuse = (outcome: CreateOutcome) => ({ changes: [], outcome })
    if (tokenIsGone) return refuse({ type: 'tokenIsGone' })
    if (!hasNamespace) return refuse({ type: 'unknownNamespace' })
    if (node === null) return refuse({ type: 'unknownNode' })
    for (const { id, check } of checks) {
      if (check === null) return refuse({ type: 'unknownCheck', id })
      if (check.status === 'critical') return refuse({ type: 'criticalCheck', id })
    }
    if (othersEnd) return refuse({ type: 'othersEnd' })
    const row: SessionRow = { ...args, node: node.name, boundChecks, createIndex: index }
    return { changes: [insert(sessions, row)], outcome: { type: 'created', row } }
  },
})

/** Destroyed by a client or expired: one does not differ from the other. */
export const endSessions = defineCommand({
  type: 'sessions.end',
  args: End,
  load: (reader, { places }) => standing(reader, places),
  apply: (_context, { nowMs }, rows): Applied<EndOutcome> => {
    const { changes, happened } = endOf(rows)
    const outcome: EndOutcome = { ended: rows.map(({ id }) => id) }
    return { changes, outcome, happened: { nowMs, facts: happened } }
  },
})

/**
 * Changes no row: that the entry is there is what counts. Every server notes by its own clock when it saw it, and
 * would lead on from there (`deadlines.ts`).
 */
export const renewSessions = defineCommand({
  type: 'sessions.renew',
  args: Renew,
  load: (reader, { places }) => places.map((place) => sessionOf(reader, place)),
  apply: (_context, _args, renewed): Applied<RenewOutcome> => ({
    changes: [],
    outcome: { renewed },
  }),
})

export const sessionCommands = commandsByType([createSession, endSessions, renewSessions])

/** The sessions of these places that are there, each once. */
function standing(reader: Reader, places: readonly SessionPlace[]): readonly SessionRow[] {
  const rows = new Map<string, SessionRow>()
  for (const { namespace, id } of places) {
    const row = sessionOf(reader, { namespace, id })
    if (row !== null) rows.set(id, row)
  }
  return [...rows.values()]
}
