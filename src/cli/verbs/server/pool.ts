/** The members of the gossip pool as tables: who is there, and who was doubted by whom. */
import { flagOf, integerOf, listOf, objectOf, pairsOf, textOf, textsOf } from '../../api/answer.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import type { Style } from '../../print/style.ts'
import { table, type Cell } from '../../print/table.ts'

type Member = {
  readonly name: string
  readonly address: string
  readonly port: string
  readonly status: string
  readonly tags: ReadonlyMap<string, string>
  readonly suspected: boolean
  readonly udpBlocked: boolean
  /** The newest one; null: it was never doubted. */
  readonly suspicion: JsonObject | null
}

/** Of the answer of `/v1/agent/members`. */
export function membersOf(json: Json): {
  readonly region: string
  readonly members: readonly Member[]
} {
  const answer = objectOf(json)
  const members = listOf(answer['Members']).map((value) => {
    const member = objectOf(value)
    const suspicion = member['Suspicion'] ?? null
    return {
      name: textOf(member, 'Name'),
      address: textOf(member, 'Addr'),
      port: integerOf(member, 'Port'),
      status: textOf(member, 'Status'),
      tags: new Map(pairsOf(member, 'Tags')),
      suspected: flagOf(member, 'Suspected'),
      udpBlocked: flagOf(member, 'UDPBlocked'),
      suspicion: suspicion === null ? null : objectOf(suspicion),
    }
  })
  return { region: textOf(answer, 'ServerRegion'), members }
}

/** Client agents are members of the pool, and never lead. */
function isClient({ tags }: Member): boolean {
  return tags.get('role') === 'muster-client'
}

/** Whether the member's RPC address is the one that leads. */
function leads({ tags }: Member, leader: string): boolean {
  const address = tags.get('rpc_addr') ?? ''
  const host = address.includes(':') ? `[${address}]` : address
  return leader !== '' && leader === `${host}:${tags.get('port') ?? ''}`
}

/** `leader` is its RPC address, empty without one. */
export function memberTable(members: readonly Member[], leader: string, style: Style): string {
  return table(
    style,
    ['Name', 'Address', 'Port', 'Status', 'Leader', 'Build', 'Datacenter', 'Region'],
    members.map((member) => [
      ...commonCells(member, leader, style),
      member.tags.get('build') ?? '',
      member.tags.get('dc') ?? '',
      member.tags.get('region') ?? '',
    ]),
  )
}

export function detailedTable(members: readonly Member[], leader: string, style: Style): string {
  return table(
    style,
    ['Name', 'Address', 'Port', 'Status', 'Leader', 'Suspected', 'UDP', 'Tags'],
    members.map((member) => [
      ...commonCells(member, leader, style),
      member.suspected ? { text: 'true', paint: style.bad } : 'false',
      member.udpBlocked ? { text: 'blocked', paint: style.bad } : 'open',
      [...member.tags].map(([name, value]) => `${name}=${value}`).join(','),
    ]),
  )
}

/** The newest doubt about each member that has one; empty when no member was doubted. */
export function suspicionTable(members: readonly Member[], style: Style): string {
  const rows = members.flatMap(({ name, suspicion }) =>
    suspicion === null ? [] : [suspicionCells(name, suspicion, style)],
  )
  if (rows.length === 0) return ''
  return table(
    style,
    ['Member', 'At', 'By', 'Path', 'Why', 'Told By', 'Confirmed By', 'Outcome'],
    rows,
  )
}

function commonCells(member: Member, leader: string, style: Style): readonly Cell[] {
  const { name, address, port, status } = member
  const paint = { alive: style.good, failed: style.bad }[status]
  return [
    name,
    address,
    port,
    paint === undefined ? status : { text: status, paint },
    leads(member, leader) ? { text: 'true', paint: style.good } : isClient(member) ? '-' : 'false',
  ]
}

function suspicionCells(name: string, suspicion: JsonObject, style: Style): readonly Cell[] {
  const confirmedBy = textsOf(suspicion, 'ConfirmedBy')
  return [
    name,
    textOf(suspicion, 'At'),
    textOf(suspicion, 'By'),
    textOf(suspicion, 'Path'),
    textOf(suspicion, 'Why'),
    optional(suspicion, 'ToldBy') ?? '-',
    confirmedBy.length === 0 ? '-' : confirmedBy.join(','),
    outcome(suspicion) ?? { text: 'none yet', paint: style.bad },
  ]
}

function outcome(suspicion: JsonObject): string | null {
  const how = optional(suspicion, 'Ended')
  if (how === null) return null
  const by = optional(suspicion, 'EndedBy')
  return `${how}${by === null ? '' : ` by ${by}`} at ${textOf(suspicion, 'EndedAt')}`
}

function optional(object: JsonObject, name: string): string | null {
  const value = object[name] ?? null
  return value === null ? null : textOf(object, name)
}
