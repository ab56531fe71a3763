/** Reads of sessions. The index of all of them is that of the last creation or end of any session. */
import type { Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import { keyOfName } from '../catalog/model.ts'
import { catalogNodes } from '../catalog/table.ts'
import { allNamespaces, type SessionPlace, type SessionRow } from './model.ts'
import { sessions } from './table.ts'

/** Of a list in memory: a session takes a few hundred bytes. */
export const listedMax = 200_000

export function sessionOf(reader: Reader, { namespace, id }: SessionPlace): SessionRow | null {
  return reader.get(sessions, [namespace, id]) ?? null
}

export function sessionsIndex(reader: Reader): number {
  return reader.tableIndex(sessions)
}

/** All of a namespace, or of all namespaces, by id. */
export async function* allSessions(
  reader: Reader,
  namespace: string,
): AsyncGenerator<readonly SessionRow[]> {
  yield* reader.pages(sessions, namespace === allNamespaces ? {} : { prefix: [namespace] })
}

/** Of a node by its name, in any letter case, or by its id. */
export async function* sessionsOfNode(
  reader: Reader,
  nameOrId: string,
  namespace: string,
): AsyncGenerator<readonly SessionRow[]> {
  const byId = firstOf(reader.pagesBy(catalogNodes, 'byId', { prefix: [nameOrId.toLowerCase()] }))
  const name = (await byId)?.name ?? nameOrId
  for await (const page of reader.pagesBy(sessions, 'byNode', { prefix: [keyOfName(name)] })) {
    yield namespace === allNamespaces ? page : page.filter((row) => row.namespace === namespace)
  }
}

export async function hasSessions(reader: Reader, namespace: string): Promise<boolean> {
  return (await firstOf(reader.pages(sessions, { prefix: [namespace] }))) !== null
}
