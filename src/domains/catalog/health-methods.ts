/** What may be asked about health: checks by node, service and status, and services with all that says how they fare. */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import type { Filter } from '../../rpc/filter/filter.ts'
import { defineQuery, type QueryContext } from '../../rpc/method.ts'
import { hasMeta, hasTags, leastForNodes, leastForServices, Listing } from './listing.ts'
import { Filter as FilterText, Meta, Tags } from './methods.ts'
import { Name, type CheckRow } from './model.ts'
import {
  checksIndex,
  checksInStatus,
  checksOfNode,
  checksOfServiceNamed,
  healthIndex,
  nodeByNameOrId,
  nodeOf,
  servicesNamed,
} from './queries.ts'
import { filters, shownCheck, shownNode, shownService } from './shown.ts'

export type HealthOfService = {
  readonly Node: ReturnType<typeof shownNode>
  readonly Service: ReturnType<typeof shownService>
  readonly Checks: readonly ReturnType<typeof shownCheck>[]
}

type Wanted = {
  readonly pages: AsyncIterable<readonly CheckRow[]>
  readonly meta: readonly (readonly [string, string])[]
  readonly filter: Filter | null
}

async function listChecks(reader: Reader, { pages, meta, filter }: Wanted, context: QueryContext) {
  const listing = new Listing(context, filter)
  const value: ReturnType<typeof shownCheck>[] = []
  for await (const page of pages) {
    for (const row of page) {
      if (meta.length > 0) {
        const node = nodeOf(reader, row.node)
        if (node === null || !hasMeta(node, meta)) continue
      }
      if (!listing.maySeeCheck(row)) continue
      const shown = shownCheck(row)
      if (await listing.keeps(shown)) value.push(shown)
    }
  }
  return { value: { value, filtered: listing.filtered }, index: checksIndex(reader) }
}

/** Of one node; its own stand under ''. */
async function checksByService(reader: Reader, node: string) {
  const found: CheckRow[] = []
  for await (const page of checksOfNode(reader, node)) found.push(...page)
  return Map.groupBy(found, ({ serviceId }) => serviceId)
}

async function* nothing(): AsyncGenerator<readonly CheckRow[]> {}

const ofNode = defineQuery({
  kind: 'query',
  name: 'health.node',
  least: leastForNodes,
  long: true,
  args: Type.Object({ node: Name, filter: FilterText }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { node, filter }, context) => {
    const row = await nodeByNameOrId(reader, node)
    // By the name as asked when there is none yet: its first check is then what wakes the reader.
    const pages = checksOfNode(reader, row?.name ?? node)
    return listChecks(reader, { pages, meta: [], filter: filters.checks.compile(filter) }, context)
  },
})

const ofService = defineQuery({
  kind: 'query',
  name: 'health.checks',
  least: leastForNodes,
  long: true,
  args: Type.Object({ service: Name, meta: Meta, filter: FilterText }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { service, meta, filter }, context) => {
    const pages = checksOfServiceNamed(reader, service)
    return listChecks(reader, { pages, meta, filter: filters.checks.compile(filter) }, context)
  },
})

/** `any`, a status, or any other word, which no check is in. */
const inState = defineQuery({
  kind: 'query',
  name: 'health.state',
  least: leastForNodes,
  long: true,
  args: Type.Object({ state: Name, meta: Meta, filter: FilterText }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { state, meta, filter }, context) => {
    const status = state === 'passing' || state === 'warning' || state === 'critical'
    const pages =
      status || state === 'any' ? checksInStatus(reader, status ? state : null) : nothing()
    return listChecks(reader, { pages, meta, filter: filters.checks.compile(filter) }, context)
  },
})

/** Instances of a service, each with its node, its checks and the node's. */
const service = defineQuery({
  kind: 'query',
  name: 'health.service',
  least: leastForServices,
  long: true,
  args: Type.Object({
    service: Name,
    tags: Tags,
    meta: Meta,
    filter: FilterText,
    /** Only those none of whose checks says anything but passing. */
    passing: Type.Boolean(),
  }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { service: name, tags, meta, filter, passing }, context) => {
    const listing = new Listing(context, filters.health.compile(filter))
    const value: HealthOfService[] = []
    /** Of nodes with several instances, read once. */
    const known = new Map<string, ReadonlyMap<string, readonly CheckRow[]>>()
    for await (const page of servicesNamed(reader, name)) {
      for (const row of page) {
        const node = nodeOf(reader, row.node)
        if (node === null || !hasTags(row, tags) || !hasMeta(node, meta)) continue
        if (!listing.maySeeService(row)) continue
        const byService = known.get(row.node) ?? (await checksByService(reader, row.node))
        known.set(row.node, byService)
        const checks = [...(byService.get('') ?? []), ...(byService.get(row.id) ?? [])]
        if (passing && checks.some(({ status }) => status !== 'passing')) continue
        const shown: HealthOfService = {
          Node: shownNode(node),
          Service: shownService(row),
          Checks: checks.map(shownCheck),
        }
        if (await listing.keeps(shown)) value.push(shown)
      }
    }
    return { value: { value, filtered: listing.filtered }, index: healthIndex(reader) }
  },
})

export const healthMethods = { ofNode, ofService, inState, service }
