/**
 * The groups that Active Directory counts for a user, nested ones included: `tokenGroups` has their security identifiers. Those of
 * the user's own domain are found many at a time by `objectSid`; what is left, of other domains, one by one.
 */
import { chunks } from '../../lib/chunks.ts'
import type { Budget } from './budget.ts'
import type { DirectoryConnection } from './connection.ts'
import type { DirectorySettings } from './directory.ts'
import { DirectoryError, tooMany } from './directory-error.ts'
import { domainOf } from './dn.ts'
import { parseFilter } from './filter.ts'
import type { FoundEntry } from './messages.ts'
import { sidText } from './sid.ts'

/** Values of tokenGroups that are looked up. */
export const sidsMax = 2_048
/** Those that one search asks for: below the 1,000 entries that the directory returns without pages. */
export const sidsPerSearch = 256
/** Those that are looked up one by one, once the searches did not find them. */
export const sidsLeftMax = 256
/** Of these, at a time on one connection. */
const sidsAtOnce = 32

const anyEntry = parseFilter('(objectClass=*)')

/** By `S-1-…`. */
type Sids = ReadonlyMap<string, Buffer>

type Lookup = {
  readonly connection: DirectoryConnection
  readonly settings: DirectorySettings
  readonly budget: Budget
}

export async function tokenGroups(
  connection: DirectoryConnection,
  settings: DirectorySettings,
  userDn: string,
  budget: Budget,
): Promise<readonly FoundEntry[]> {
  const lookup = { connection, settings, budget }
  const wanted = await sidsOf(lookup, userDn)
  if (wanted.size > sidsMax) throw tooMany(`values of tokenGroups (${wanted.size})`)
  const base = domainOf(userDn) ?? settings.groupdn
  const found: FoundEntry[] = []
  const left = new Map(wanted)
  for (const chunk of base === '' ? [] : chunks([...wanted], sidsPerSearch)) {
    for (const entry of await ifNotRefused(searchSids(lookup, base, new Map(chunk)))) {
      // What was not asked for counts for nothing.
      const known = sidsIn(entry).filter((sid) => wanted.has(sid))
      if (known.length > 0) found.push(entry)
      for (const sid of known) left.delete(sid)
    }
  }
  if (left.size > sidsLeftMax) throw tooMany(`groups of other domains (${left.size})`)
  for (const chunk of chunks([...left.keys()], sidsAtOnce)) {
    const entries = await Promise.all(chunk.map((sid) => ifNotRefused(readSid(lookup, sid))))
    found.push(...entries.flat())
  }
  return found
}

/** Malformed ones are left out. */
async function sidsOf({ connection, settings, budget }: Lookup, userDn: string): Promise<Sids> {
  const [user] = await connection.search(
    {
      base: userDn,
      scope: 'base',
      filter: anyEntry,
      attributes: ['tokenGroups'],
      binary: ['tokenGroups'],
      dereference: settings.dereferenceAliases,
    },
    budget,
  )
  const sids = new Map<string, Buffer>()
  for (const value of user?.values('tokenGroups') ?? []) {
    const bytes = Buffer.from(value)
    const text = sidText(bytes)
    if (text !== null) sids.set(text, bytes)
  }
  return sids
}

function searchSids(
  { connection, settings, budget }: Lookup,
  base: string,
  sids: Sids,
): Promise<readonly FoundEntry[]> {
  const equal = { type: 'equal', attribute: 'objectSid' } as const
  return connection.search(
    {
      base,
      scope: 'sub',
      filter: { type: 'or', parts: [...sids.values()].map((value) => ({ ...equal, value })) },
      attributes: ['objectSid'],
      binary: ['objectSid'],
      dereference: settings.dereferenceAliases,
      pageSize: settings.maxPageSize,
    },
    budget,
  )
}

function sidsIn(entry: FoundEntry): readonly string[] {
  return entry.values('objectSid').flatMap((value) => sidText(Buffer.from(value)) ?? [])
}

function readSid(
  { connection, settings, budget }: Lookup,
  sid: string,
): Promise<readonly FoundEntry[]> {
  return connection.search(
    {
      base: `<SID=${sid}>`,
      scope: 'base',
      filter: anyEntry,
      attributes: ['1.1'],
      dereference: settings.dereferenceAliases,
    },
    budget,
  )
}

/** What the directory does not find counts for nothing; a directory that is gone ends the login. */
async function ifNotRefused(
  search: Promise<readonly FoundEntry[]>,
): Promise<readonly FoundEntry[]> {
  try {
    return await search
  } catch (error) {
    if (error instanceof DirectoryError && error.kind === 'refused') return []
    throw error
  }
}
