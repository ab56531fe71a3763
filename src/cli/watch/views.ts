/** What `muster watch` can look at: the request of each type, and what of its answer is shown. */
import { listOf } from '../api/answer.ts'
import { escapePath, type Search } from '../api/client.ts'
import type { Json } from '../../lib/exact-json.ts'
import { misused, type FlagTable, type Flags } from '../flags.ts'

export const viewTypes = [
  'key',
  'keyprefix',
  'services',
  'nodes',
  'service',
  'checks',
  'event',
] as const

export type ViewType = (typeof viewTypes)[number]

/** Options of single types, beside `-type` itself. */
export const viewFlags: FlagTable = {
  key: { summary: 'The key, of type key', value: 'KEY' },
  prefix: { summary: 'What keys begin with, of type keyprefix', value: 'PREFIX' },
  service: { summary: 'The service, of type service or checks', value: 'NAME' },
  tag: { summary: 'Only with this tag, of type service; repeatable', value: 'TAG' },
  passingonly: { summary: 'Only what passes all checks, of type service', value: 'true|false' },
  state: { summary: 'Only checks in this state, of type checks [any]', value: 'STATE' },
  name: { summary: 'Only events of this name, of type event', value: 'NAME' },
}

const flagsOf: Readonly<Record<ViewType, readonly string[]>> = {
  key: ['key'],
  keyprefix: ['prefix'],
  services: [],
  nodes: [],
  service: ['service', 'tag', 'passingonly'],
  checks: ['service', 'state'],
  event: ['name'],
}

export type View = {
  readonly path: string
  readonly search: Search
  /** Indexes only differ: those of events are no numbers that grow. */
  readonly indexGrows: boolean
  /** From the answer, null when there was nothing to find. */
  readonly shown: (answer: Json) => Json
}

export function viewOf(flags: Flags): View {
  const named = flags.last('type')
  const type = viewTypes.find((known) => known === named)
  if (type === undefined) {
    const what = named === undefined ? 'missing' : `not ${JSON.stringify(named)}`
    return misused(`-type is one of ${viewTypes.join(', ')}; it is ${what}`)
  }
  const strange = Object.keys(viewFlags).find(
    (name) => flags.last(name) !== undefined && !flagsOf[type].includes(name),
  )
  if (strange !== undefined) misused(`-${strange} is not for -type ${type}`)
  return { indexGrows: type !== 'event', shown: (answer) => answer, ...requestOf(type, flags) }
}

function requestOf(type: ViewType, flags: Flags): Pick<View, 'path' | 'search'> & Partial<View> {
  const needed = (name: string): string =>
    flags.last(name) ?? misused(`-type ${type} needs -${name}`)
  const [service, state] = [flags.last('service'), flags.last('state')]
  switch (type) {
    case 'key':
      return {
        path: `/v1/kv/${escapePath(needed('key'))}`,
        search: {},
        shown: (answer) => (answer === null ? null : (listOf(answer)[0] ?? null)),
      }
    case 'keyprefix':
      return { path: `/v1/kv/${escapePath(needed('prefix'))}`, search: { recurse: '' } }
    case 'services':
      return { path: '/v1/catalog/services', search: {} }
    case 'nodes':
      return { path: '/v1/catalog/nodes', search: {} }
    case 'service':
      return {
        path: `/v1/health/service/${encodeURIComponent(needed('service'))}`,
        search: { tag: flags.all('tag'), passing: passingOf(flags) ? '' : null },
      }
    case 'checks':
      if (service !== undefined && state !== undefined) {
        misused('-service and -state exclude each other')
      }
      return service === undefined
        ? { path: `/v1/health/state/${encodeURIComponent(state ?? 'any')}`, search: {} }
        : { path: `/v1/health/checks/${encodeURIComponent(service)}`, search: {} }
    case 'event':
      return { path: '/v1/event/list', search: { name: flags.last('name') } }
  }
}

function passingOf(flags: Flags): boolean {
  const text = flags.last('passingonly') ?? 'false'
  if (text !== 'true' && text !== 'false') {
    misused(`-passingonly is true or false, not ${JSON.stringify(text)}`)
  }
  return text === 'true'
}
