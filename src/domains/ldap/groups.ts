/**
 * The groups of a user: from `tokenGroups`, or by the group filter; in the second case through groups within groups where the
 * filter asks for it by the matching rule of Active Directory. A directory that does not know the rule is walked level by level.
 */
import { chunks } from '../../lib/chunks.ts'
import type { Budget } from './budget.ts'
import type { DirectoryConnection } from './connection.ts'
import type { DirectorySettings } from './directory.ts'
import { tooMany } from './directory-error.ts'
import { commonNameOf, normalisedDn, parseDn } from './dn.ts'
import { escapeFilterValue, parseFilter, type FilterNode } from './filter.ts'
import type { FoundEntry } from './messages.ts'
import { fillTemplate, parseTemplate } from './template.ts'
import { tokenGroups } from './token-groups.ts'

/** `LDAP_MATCHING_RULE_IN_CHAIN`. */
export const chainRuleOid = '1.2.840.113556.1.4.1941'
/** `LDAP_CAP_ACTIVE_DIRECTORY_OID`: directories that have it know the rule. */
const activeDirectoryOid = '1.2.840.113556.1.4.800'

/** Searches of one walk through groups within groups. */
export const walkSearchesMax = 10
/** Groups whose own groups one search of a walk asks for. */
export const walkWidth = 500
/** Groups of one user. */
export const groupsMax = 10_000

export const defaultGroupFilter =
  '(|(memberUid={{.Username}})(member={{.UserDN}})(uniqueMember={{.UserDN}}))'

export type GroupSearches = {
  readonly search: <T>(run: (connection: DirectoryConnection) => Promise<T>) => Promise<T>
  readonly anonymous: <T>(run: (connection: DirectoryConnection) => Promise<T>) => Promise<T>
  /** By URL, whether the directory knows the matching rule; filled here. */
  readonly chainRule: Map<string, boolean>
  readonly budget: Budget
}

type Member = { readonly userDn: string; readonly username: string }

export async function groupsOf(
  settings: DirectorySettings,
  member: Member,
  searches: GroupSearches,
): Promise<readonly string[]> {
  const { budget } = searches
  const run = settings.anonymousGroupSearch ? searches.anonymous : searches.search
  const entries = await run(async (connection) => {
    if (settings.useTokenGroups) return tokenGroups(connection, settings, member.userDn, budget)
    if (settings.groupdn === '') return []
    return filteredGroups(connection, settings, member, searches)
  })
  return namesOf(entries, settings.useTokenGroups ? null : groupAttribute(settings))
}

function groupAttribute({ groupattr }: DirectorySettings): string {
  return groupattr === '' ? 'cn' : groupattr
}

async function filteredGroups(
  connection: DirectoryConnection,
  settings: DirectorySettings,
  member: Member,
  searches: GroupSearches,
): Promise<readonly FoundEntry[]> {
  const filter = parseFilter(groupFilterText(settings, member))
  const search = (node: FilterNode): Promise<readonly FoundEntry[]> =>
    connection.search(
      {
        base: settings.groupdn,
        scope: 'sub',
        filter: node,
        attributes: [groupAttribute(settings)],
        dereference: settings.dereferenceAliases,
        pageSize: settings.maxPageSize,
      },
      searches.budget,
    )
  const isNested = hasChainRule(filter) && !(await knowsChainRule(connection, searches))
  return isNested ? walk(filter, search) : search(filter)
}

/** What is sent to find the groups. */
export function groupFilterText(
  { groupfilter }: Pick<DirectorySettings, 'groupfilter'>,
  { userDn, username }: Member,
): string {
  const text = groupfilter === '' ? defaultGroupFilter : groupfilter
  return fillTemplate(parseTemplate(text, ['UserDN', 'Username'], 'groupfilter'), {
    UserDN: escapeFilterValue(userDn),
    Username: escapeFilterValue(username),
    UserAttr: '',
  })
}

function hasChainRule(node: FilterNode): boolean {
  if (node.type === 'and' || node.type === 'or') return node.parts.some(hasChainRule)
  if (node.type === 'not') return hasChainRule(node.part)
  return node.type === 'extensible' && node.rule === chainRuleOid
}

/** Where it is not known, the directory finds nothing and does not say why: so the root is asked once. */
async function knowsChainRule(
  connection: DirectoryConnection,
  { chainRule, budget }: GroupSearches,
): Promise<boolean> {
  const known = chainRule.get(connection.url)
  if (known !== undefined) return known
  const knows = await isActiveDirectory(connection, budget)
  chainRule.set(connection.url, knows)
  return knows
}

/** By what the root of the directory says of it. */
export async function isActiveDirectory(
  connection: DirectoryConnection,
  budget: Budget,
): Promise<boolean> {
  const [root] = await connection.search(
    {
      base: '',
      scope: 'base',
      filter: parseFilter('(objectClass=*)'),
      attributes: ['supportedCapabilities'],
    },
    budget,
  )
  return root?.values('supportedCapabilities').includes(activeDirectoryOid) ?? false
}

/** Level by level: first the user's groups, then those that these are members of. A group that was seen is not asked for again. */
async function walk(
  filter: FilterNode,
  search: (node: FilterNode) => Promise<readonly FoundEntry[]>,
): Promise<readonly FoundEntry[]> {
  const found = new Map<string, FoundEntry>()
  let searches = 0
  let next: readonly string[] | null = null
  for (;;) {
    const level: string[] = []
    const batches = next === null ? [null] : chunks(next, walkWidth)
    for (const batch of batches) {
      searches += 1
      if (searches > walkSearchesMax) throw tooMany('groups within groups')
      for (const entry of await search(withoutChainRule(filter, batch))) {
        const key = normalisedDn(entry.dn)
        if (found.has(key)) continue
        if (found.size >= groupsMax) throw tooMany('groups')
        found.set(key, entry)
        level.push(entry.dn)
      }
    }
    if (level.length === 0) return [...found.values()]
    next = level
  }
}

/** The rule's assertions as plain ones: about the value they have, or about each of these groups. */
function withoutChainRule(node: FilterNode, members: readonly string[] | null): FilterNode {
  if (node.type === 'and' || node.type === 'or') {
    return { type: node.type, parts: node.parts.map((part) => withoutChainRule(part, members)) }
  }
  if (node.type === 'not') return { type: 'not', part: withoutChainRule(node.part, members) }
  if (node.type !== 'extensible' || node.rule !== chainRuleOid) return node
  const { attribute, value } = node
  if (members === null) return { type: 'equal', attribute, value }
  return {
    type: 'or',
    parts: members.map((dn) => ({ type: 'equal', attribute, value: Buffer.from(dn) })),
  }
}

/** `attribute` null: each entry counts by its own name. */
function namesOf(entries: readonly FoundEntry[], attribute: string | null): readonly string[] {
  const names = new Map<string, string>()
  for (const entry of entries) {
    const values = attribute === null ? [] : entry.values(attribute)
    for (const value of values.length === 0 ? [entry.dn] : values) {
      const text = String(value)
      if (text === '') continue
      const name = commonNameOf(text) ?? text
      // Two spellings of one distinguished name are one group.
      const key = parseDn(name) === null ? name : normalisedDn(name)
      if (!names.has(key)) names.set(key, name)
      if (names.size > groupsMax) throw tooMany('groups')
    }
  }
  return [...names.values()]
}
