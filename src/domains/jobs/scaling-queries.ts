/** Reads of the policies by which groups are scaled. */
import type { Reader } from '../../fsm/domain.ts'
import { newestVersionOf } from './queries.ts'
import {
  frontOfPolicyId,
  policyIdOf,
  scalingOf,
  type ScaledGroup,
  type Scaling,
} from './scaling-model.ts'
import { jobs, type JobRow } from './table.ts'

export type ScalingPolicy = Omit<ScaledGroup, 'group'> & {
  readonly id: string
  readonly namespace: string
  readonly jobId: string
  readonly group: string
  readonly scaling: Scaling
}

/** In the order of namespaces, jobs and groups. `namespace`: null for all; `jobId`: null for all. */
export async function* scalingPolicies(
  reader: Reader,
  { namespace, jobId }: { readonly namespace: string | null; readonly jobId: string | null },
): AsyncGenerator<readonly ScalingPolicy[]> {
  const prefix = namespace === null ? [] : jobId === null ? [namespace] : [namespace, jobId]
  for await (const page of reader.pagesBy(jobs, 'scaled', { prefix })) {
    const rows = jobId === null ? page : page.filter(({ id }) => id === jobId)
    yield rows.flatMap((row) => policiesOf(reader, row))
  }
}

/** `namespace`: null for any. */
export async function scalingPolicyById(
  reader: Reader,
  id: string,
  namespace: string | null,
): Promise<ScalingPolicy | null> {
  const prefix = [frontOfPolicyId(id)]
  for await (const page of reader.pagesBy(jobs, 'byPolicy', { prefix })) {
    for (const row of page) {
      if (namespace !== null && row.namespace !== namespace) continue
      const found = policiesOf(reader, row).find((policy) => policy.id === id)
      if (found !== undefined) return found
    }
  }
  return null
}

function policiesOf(reader: Reader, row: JobRow): readonly ScalingPolicy[] {
  const spec = newestVersionOf(reader, row)?.spec
  if (spec === undefined) return []
  const { namespace, id: jobId } = row
  return (row.scaled ?? [])
    .flatMap(({ group, ...indexes }): readonly ScalingPolicy[] => {
      const scaling = scalingOf(spec, group)
      if (scaling === null) return []
      return [{ id: policyIdOf(row, group), namespace, jobId, group, scaling, ...indexes }]
    })
    .sort((a, b) => Buffer.compare(Buffer.from(a.group), Buffer.from(b.group)))
}
