/** What may be asked about nodes and services. Entries are as the API shows them, for that is what filters ask of. */
import { Type } from 'typebox'
import { onePage, Page, wholeList } from '../../rpc/list.ts'
import { defineQuery } from '../../rpc/method.ts'
import { Name } from './model.ts'
import {
  begins,
  hasMeta,
  leastForNames,
  leastForNodes,
  leastForServices,
  maySeeService,
  readsNode,
  readsService,
  nodeOfInstance,
} from './listing.ts'
import {
  listNodes,
  listServices,
  nodeByNameOrId,
  nodeOf,
  nodesIndex,
  servicesIndex,
  servicesNamed,
  servicesOfNode,
} from './queries.ts'
import { catalogNodes, catalogServices } from './table.ts'
import { filters, shownNode, shownService, shownServiceOfNode } from './shown.ts'

/** Conditions that one request may name. */
const conditionsMax = 64

/** Arguments that several queries take. */
export const Meta = Type.Immutable(
  Type.Array(Type.Immutable(Type.Tuple([Type.String(), Type.String()])), {
    maxItems: conditionsMax,
  }),
)
export const Tags = Type.Immutable(Type.Array(Type.String(), { maxItems: conditionsMax }))
export const Filter = Type.String()

export type NodeWithServices = {
  readonly Node: ReturnType<typeof shownNode>
  readonly Services: Readonly<Record<string, ReturnType<typeof shownService>>>
}

type FoundNode = {
  readonly value: NodeWithServices | null
  /** Something was left out that the caller may not see. */
  readonly filtered: boolean
}

const nodes = defineQuery({
  kind: 'query',
  name: 'catalog.nodes',
  least: leastForNodes,
  long: true,
  args: Type.Object({ ...Page, meta: Meta }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { meta, prefix, filter, ...page }, context) => {
    const value = await onePage(context, page, {
      pages: listNodes(reader),
      keyOf: catalogNodes.key,
      show: (row, may) =>
        begins(row.name, prefix) && hasMeta(row, meta) && may(readsNode(row.name))
          ? shownNode(row)
          : null,
      filter: filters.nodes.compile(filter),
    })
    return { value, index: nodesIndex(reader) }
  },
})

/** Names, each with the tags its instances have; in pages, names in order. */
const services = defineQuery({
  kind: 'query',
  name: 'catalog.services',
  least: leastForNames,
  long: true,
  args: Type.Object({ ...Page, meta: Meta }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { meta, prefix, filter, ...page }, context) => {
    const { rows, filtered } = await onePage(context, wholeList, {
      pages: listServices(reader),
      keyOf: catalogServices.key,
      show: (row, may) => {
        const node = begins(row.name, prefix) ? nodeOf(reader, row.node) : null
        if (node === null || !hasMeta(node, meta)) return null
        return may(readsService(row.name)) ? { row, node } : null
      },
      filter: filters.servicesOfNodes.compile(filter),
      recordOf: ({ row, node }) => shownServiceOfNode(row, node),
    })
    const tags = new Map<string, Set<string>>()
    for (const { row } of rows) {
      const held = tags.get(row.name) ?? new Set()
      for (const tag of row.tags) held.add(tag)
      tags.set(row.name, held)
    }
    const names = [...tags].map(([name, held]) => ({ name, tags: [...held].sort() }))
    const isWhole = page.perPage === null && page.nextToken === null
    if (!isWhole) names.sort((left, right) => Buffer.compare(bytesOf(left), bytesOf(right)))
    const value = await onePage(context, page, {
      pages: [names],
      keyOf: ({ name }) => [name],
      show: (named) => named,
      filter: null,
    })
    return { value: { ...value, filtered }, index: servicesIndex(reader) }
  },
})

const service = defineQuery({
  kind: 'query',
  name: 'catalog.service',
  least: leastForServices,
  long: true,
  args: Type.Object({ ...Page, service: Name, tags: Tags, meta: Meta }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { service: name, tags, meta, prefix, filter, ...page }, context) => {
    const value = await onePage(context, page, {
      pages: servicesNamed(reader, name),
      keyOf: catalogServices.key,
      show: (row, may) => {
        const node = nodeOfInstance(reader, row, { tags, meta, prefix }, may)
        return node === null ? null : shownServiceOfNode(row, node)
      },
      filter: filters.servicesOfNodes.compile(filter),
    })
    return { value, index: servicesIndex(reader) }
  },
})

/** By name or id; null: there is no such node, or the caller may not see it. */
const node = defineQuery({
  kind: 'query',
  name: 'catalog.node',
  least: leastForNodes,
  long: true,
  args: Type.Object({ node: Name, filter: Filter }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { node: text, filter: expression }, context) => {
    const filter = filters.services.compile(expression)
    const index = servicesIndex(reader)
    const row = await nodeByNameOrId(reader, text)
    if (row === null || !context.may(readsNode(row.name))) {
      const nothing: FoundNode = { value: null, filtered: row !== null }
      return { value: nothing, index }
    }
    const { rows, filtered } = await onePage(context, wholeList, {
      pages: servicesOfNode(reader, row.name),
      keyOf: catalogServices.key,
      show: (instance, may) => (maySeeService(may, instance) ? instance : null),
      filter,
      recordOf: shownService,
    })
    const found = rows.map((instance) => [instance.id, shownService(instance)] as const)
    const shown = { Node: shownNode(row), Services: Object.fromEntries(found) }
    const value: FoundNode = { value: shown, filtered }
    return { value, index }
  },
})

function bytesOf({ name }: { readonly name: string }): Buffer {
  return Buffer.from(name)
}

export const catalogMethods = { nodes, services, service, node }
