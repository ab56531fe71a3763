/** What may be asked about nodes and services. Entries are as the API shows them, for that is what filters ask of. */
import { Type } from 'typebox'
import { defineQuery } from '../../rpc/method.ts'
import { Name } from './model.ts'
import {
  hasMeta,
  hasTags,
  leastForNodes,
  leastForServices,
  Listing,
  type Listed,
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

const nodes = defineQuery({
  kind: 'query',
  name: 'catalog.nodes',
  least: leastForNodes,
  long: true,
  args: Type.Object({ meta: Meta, filter: Filter }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { meta, filter }, context) => {
    const listing = new Listing(context, filters.nodes.compile(filter))
    const value: ReturnType<typeof shownNode>[] = []
    for await (const page of listNodes(reader)) {
      for (const row of page) {
        if (!hasMeta(row, meta) || !listing.maySeeNode(row)) continue
        const shown = shownNode(row)
        if (await listing.keeps(shown)) value.push(shown)
      }
    }
    return { value: { value, filtered: listing.filtered }, index: nodesIndex(reader) }
  },
})

/** Names, each with the tags its instances have; in pages, names in order. */
const services = defineQuery({
  kind: 'query',
  name: 'catalog.services',
  least: leastForServices,
  long: true,
  args: Type.Object({ meta: Meta, filter: Filter }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { meta, filter }, context) => {
    const listing = new Listing(context, filters.servicesOfNodes.compile(filter))
    const names = new Map<string, Set<string>>()
    for await (const page of listServices(reader)) {
      for (const row of page) {
        const node = nodeOf(reader, row.node)
        if (node === null || !hasMeta(node, meta) || !listing.maySeeService(row)) continue
        if (!(await listing.keeps(shownServiceOfNode(row, node)))) continue
        const tags = names.get(row.name) ?? new Set()
        for (const tag of row.tags) tags.add(tag)
        names.set(row.name, tags)
      }
    }
    const value = Object.fromEntries([...names].map(([name, tags]) => [name, [...tags].sort()]))
    return { value: { value, filtered: listing.filtered }, index: servicesIndex(reader) }
  },
})

const service = defineQuery({
  kind: 'query',
  name: 'catalog.service',
  least: leastForServices,
  long: true,
  args: Type.Object({ service: Name, tags: Tags, meta: Meta, filter: Filter }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { service: name, tags, meta, filter }, context) => {
    const listing = new Listing(context, filters.servicesOfNodes.compile(filter))
    const value: ReturnType<typeof shownServiceOfNode>[] = []
    for await (const page of servicesNamed(reader, name)) {
      for (const row of page) {
        const node = nodeOf(reader, row.node)
        if (node === null || !hasTags(row, tags) || !hasMeta(node, meta)) continue
        if (!listing.maySeeService(row)) continue
        const shown = shownServiceOfNode(row, node)
        if (await listing.keeps(shown)) value.push(shown)
      }
    }
    return { value: { value, filtered: listing.filtered }, index: servicesIndex(reader) }
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
  query: async (reader, { node: text, filter }, context) => {
    const listing = new Listing(context, filters.services.compile(filter))
    const index = servicesIndex(reader)
    const row = await nodeByNameOrId(reader, text)
    const nothing: Listed<NodeWithServices | null> = { value: null, filtered: false }
    if (row === null) return { value: nothing, index }
    if (!listing.maySeeNode(row)) return { value: { ...nothing, filtered: true }, index }
    const found: (readonly [string, ReturnType<typeof shownService>])[] = []
    for await (const page of servicesOfNode(reader, row.name)) {
      for (const instance of page) {
        if (!listing.maySeeService(instance)) continue
        const shown = shownService(instance)
        if (await listing.keeps(shown)) found.push([instance.id, shown])
      }
    }
    const value: NodeWithServices = { Node: shownNode(row), Services: Object.fromEntries(found) }
    return { value: { value, filtered: listing.filtered }, index }
  },
})

export const catalogMethods = { nodes, services, service, node }
