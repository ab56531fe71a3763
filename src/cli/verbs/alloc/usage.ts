/** What the tasks of an allocation take, for `muster alloc status -stats`. */
import { countOf, membersOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import type { Cell } from '../../print/table.ts'
import { clientPath } from './find.ts'

const mib = 1_024 * 1_024

export type TaskUsages = ReadonlyMap<string, readonly (readonly [string, Cell])[]>

/** By task, of those that run. */
export async function usagesOf(
  client: ApiClient,
  id: string,
  allocation: JsonObject,
): Promise<TaskUsages> {
  if (textOf(allocation, 'ClientStatus') !== 'running') return new Map()
  const answer = objectOf(await client.get(clientPath(id, '/stats')))
  const limits = objectOf(allocation['TaskResources'])
  return new Map(
    membersOf(answer, 'Tasks').map(([task, { ResourceUsage: usage }]) => {
      const limit = objectOf(limits[task] ?? {})
      return [task, shownUsage(objectOf(usage), limit)] as const
    }),
  )
}

function shownUsage(usage: JsonObject, limit: JsonObject): readonly (readonly [string, Cell])[] {
  const cpu = objectOf(usage['CpuStats'])
  const memory = objectOf(usage['MemoryStats'])
  const of = (name: string): number => (limit[name] === undefined ? 0 : countOf(limit, name))
  const mhz = Math.round(fractionOf(cpu, 'TotalTicks'))
  const rss = (fractionOf(memory, 'RSS') / mib).toFixed(1)
  return [
    ['CPU', `${mhz}/${of('CPU')} MHz, ${fractionOf(cpu, 'Percent').toFixed(1)}% of one processor`],
    ['Memory', `${rss}/${of('MemoryMB')} MiB`],
  ]
}

function fractionOf(object: JsonObject, name: string): number {
  const value = object[name]
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
}
