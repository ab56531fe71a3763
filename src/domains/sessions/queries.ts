/** Reads of sessions. The index of all of them is that of the last creation or end of any session. */
import type { Reader } from '../../fsm/domain.ts'
import { anyStands, firstOf } from '../define.ts'
import { keyOfName } from '../catalog/model.ts'
import { catalogNodes } from '../catalog/table.ts'
import { endingsIn } from './ended-queries.ts'
import { allNamespaces, type SessionPlace, type SessionRow } from './model.ts'
import { sessions } from './table.ts'

/** Rows of sessions that have ended that `hasSessions` looks at. */
const endedRowsMax = 4_096

export function sessionOf(reader: Reader, { namespace, id }: SessionPlace): SessionRow | null {
  const row = reader.get(sessions, [namespace, id])
  return row === undefined || endingsIn(reader)(row) !== null ? null : row
}

export function sessionsIndex(reader: Reader): number {
  return reader.tableIndex(sessions)
}

/** All of a namespace, or of all namespaces, by id. */
export async function* allSessions(
  reader: Reader,
  namespace: string,
): AsyncGenerator<readonly SessionRow[]> {
  const endedAt = endingsIn(reader)
  const range = namespace === allNamespaces ? {} : { prefix: [namespace] }
  for await (const page of reader.pages(sessions, range)) {
    yield page.filter((row) => endedAt(row) === null)
  }
}

/** Of a node by its name, in any letter case, or by its id. */
export async function* sessionsOfNode(
  reader: Reader,
  nameOrId: string,
  namespace: string,
): AsyncGenerator<readonly SessionRow[]> {
  const byId = firstOf(reader.pagesBy(catalogNodes, 'byId', { prefix: [nameOrId.toLowerCase()] }))
  const name = (await byId)?.name ?? nameOrId
  const endedAt = endingsIn(reader)
  const isShown = (row: SessionRow) =>
    (namespace === allNamespaces || row.namespace === namespace) && endedAt(row) === null
  for await (const page of reader.pagesBy(sessions, 'byNode', { prefix: [keyOfName(name)] })) {
    yield page.filter(isShown)
  }
}

/** Whether one of it stands. Of very many that have ended and are still there, the first are looked at: more mean yes. */
export function hasSessions(reader: Reader, namespace: string): Promise<boolean> {
  const endedAt = endingsIn(reader)
  const rows = reader.pages(sessions, { prefix: [namespace] })
  return anyStands(rows, (row) => endedAt(row) === null, endedRowsMax)
}
