/** What may be asked about health: checks by node, service and status, and services with all that says how they fare. */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import { onePage, Page, type PageArgs } from '../../rpc/list.ts'
import { defineQuery, type QueryContext } from '../../rpc/method.ts'
import {
  begins,
  hasMeta,
  leastForNodes,
  leastForServices,
  maySeeCheck,
  nodeOfInstance,
} from './listing.ts'
import { Meta, Tags } from './methods.ts'
import { Name, type CheckRow, type NodeRow, type ServiceRow } from './model.ts'
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
import { catalogChecks, catalogServices } from './table.ts'
import { filters, shownCheck, shownNode, shownService } from './shown.ts'

export type HealthOfService = {
  readonly Node: ReturnType<typeof shownNode>
  readonly Service: ReturnType<typeof shownService>
  readonly Checks: readonly ReturnType<typeof shownCheck>[]
}

type Wanted = PageArgs & {
  readonly prefix: string
  readonly filter: string
  readonly meta: readonly (readonly [string, string])[]
}

async function listChecks(
  reader: Reader,
  pages: AsyncIterable<readonly CheckRow[]>,
  { meta, prefix, filter, ...page }: Wanted,
  context: QueryContext,
) {
  const isOfNode = (row: CheckRow): boolean => {
    const node = nodeOf(reader, row.node)
    return node !== null && hasMeta(node, meta)
  }
  const value = await onePage(context, page, {
    pages,
    keyOf: catalogChecks.key,
    show: (row, may) =>
      begins(row.id, prefix) && (meta.length === 0 || isOfNode(row)) && maySeeCheck(may, row)
        ? shownCheck(row)
        : null,
    filter: filters.checks.compile(filter),
  })
  return { value, index: checksIndex(reader) }
}

/** Of one node; its own stand under ''. */
async function checksByService(reader: Reader, node: string) {
  return Map.groupBy(await allOf(checksOfNode(reader, node)), ({ serviceId }) => serviceId)
}

async function* nothing(): AsyncGenerator<readonly CheckRow[]> {}

const ofNode = defineQuery({
  kind: 'query',
  name: 'health.node',
  least: leastForNodes,
  long: true,
  args: Type.Object({ ...Page, node: Name }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { node, ...wanted }, context) => {
    const row = await nodeByNameOrId(reader, node)
    // By the name as asked when there is none yet: its first check is then what wakes the reader.
    const pages = checksOfNode(reader, row?.name ?? node)
    return listChecks(reader, pages, { ...wanted, meta: [] }, context)
  },
})

const ofService = defineQuery({
  kind: 'query',
  name: 'health.checks',
  least: leastForNodes,
  long: true,
  args: Type.Object({ ...Page, service: Name, meta: Meta }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { service, ...wanted }, context) =>
    listChecks(reader, checksOfServiceNamed(reader, service), wanted, context),
})

/** `any`, a status, or any other word, which no check is in. */
const inState = defineQuery({
  kind: 'query',
  name: 'health.state',
  least: leastForNodes,
  long: true,
  args: Type.Object({ ...Page, state: Name, meta: Meta }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { state, ...wanted }, context) => {
    const status = state === 'passing' || state === 'warning' || state === 'critical'
    const pages =
      status || state === 'any' ? checksInStatus(reader, status ? state : null) : nothing()
    return listChecks(reader, pages, wanted, context)
  },
})

/** Instances of a service, each with its node, its checks and the node's. */
const service = defineQuery({
  kind: 'query',
  name: 'health.service',
  least: leastForServices,
  long: true,
  args: Type.Object({
    ...Page,
    service: Name,
    tags: Tags,
    meta: Meta,
    /** Only those none of whose checks says anything but passing. */
    passing: Type.Boolean(),
  }),
  requires: () => ({ resource: 'none' }),
  query: async (
    reader,
    { service: name, tags, meta, passing, prefix, filter, ...page },
    context,
  ) => {
    /** Of nodes with several instances, read once. */
    const known = new Map<string, ReadonlyMap<string, readonly CheckRow[]>>()
    const show = async (row: ServiceRow, node: NodeRow): Promise<HealthOfService | null> => {
      const byService = known.get(row.node) ?? (await checksByService(reader, row.node))
      known.set(row.node, byService)
      const checks = [...(byService.get('') ?? []), ...(byService.get(row.id) ?? [])]
      if (passing && checks.some(({ status }) => status !== 'passing')) return null
      return { Node: shownNode(node), Service: shownService(row), Checks: checks.map(shownCheck) }
    }
    const value = await onePage(context, page, {
      pages: servicesNamed(reader, name),
      keyOf: catalogServices.key,
      show: (row, may) => {
        const node = nodeOfInstance(reader, row, { tags, meta, prefix }, may)
        return node === null ? null : show(row, node)
      },
      filter: filters.health.compile(filter),
    })
    return { value, index: healthIndex(reader) }
  },
})

export const healthMethods = { ofNode, ofService, inState, service }
