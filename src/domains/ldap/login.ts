/**
 * One login against a directory: finds the user's entry, binds as the user, finds the groups. What fails is a `DirectoryError`
 * for the log. Nothing here knows of tokens and policies.
 */
import { randomUUID } from 'node:crypto'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Alias } from '../entities/model.ts'
import type { Budget } from './budget.ts'
import type { DirectoryConnection } from './connection.ts'
import { invalidCredentials, type Directory, type DirectorySettings } from './directory.ts'
import { DirectoryError } from './directory-error.ts'
import { escapeDnValue, normalisedDn } from './dn.ts'
import { escapeFilterValue, parseFilter } from './filter.ts'
import { groupsOf } from './groups.ts'
import type { FoundEntry, Search } from './messages.ts'
import { normalName } from './names.ts'
import { fillTemplate, parseTemplate } from './template.ts'

export type DirectoryIdentity = {
  readonly userDn: string
  /** What this person is called by the present settings, and by its entry's name, which says the same whatever the settings are. */
  readonly aliases: readonly [Alias, ...Alias[]]
  /** As the directory calls them, each once. */
  readonly groups: readonly string[]
}

type User = { readonly bindName: string; readonly alias: Alias }

const defaultUserFilter = '({{.UserAttr}}={{.Username}})'

export function searchesForUser(
  settings: Pick<DirectorySettings, 'discoverdn' | 'binddn' | 'bindpasses'>,
): boolean {
  return settings.discoverdn || hasServiceAccount(settings)
}

function hasServiceAccount({
  binddn,
  bindpasses,
}: Pick<DirectorySettings, 'binddn' | 'bindpasses'>): boolean {
  return binddn !== '' && bindpasses.some((password) => password !== '')
}

/** Rejects with a `DirectoryError`, whatever went wrong. */
export async function authenticate(
  directory: Directory,
  username: string,
  password: string,
  budget: Budget,
): Promise<DirectoryIdentity> {
  return failing(steps(directory, username, password, budget))
}

/**
 * What `authenticate` finds, without the user's password: all searches are the service account's. Proves nothing. Rejects with a
 * `DirectoryError`.
 */
export async function lookUp(
  directory: Directory,
  username: string,
  budget: Budget,
): Promise<DirectoryIdentity> {
  const { settings } = directory
  const find = async () => {
    const found = searchesForUser(settings)
      ? await findUser(directory, username, budget)
      : constructedUser(settings, username)
    if (found === null) throw nobody()
    return identityOf(directory, found, username, byService(directory, budget), budget)
  }
  return failing(find())
}

async function failing<T>(outcome: Promise<T>): Promise<T> {
  try {
    return await outcome
  } catch (error) {
    if (error instanceof DirectoryError) throw error
    const kind = error instanceof MusterError ? 'user' : 'protocol'
    throw new DirectoryError(kind, textOf(error), { cause: error })
  }
}

function nobody(): DirectoryError {
  return new DirectoryError('user', 'no user, or more than one, has this name')
}

async function steps(
  directory: Directory,
  username: string,
  password: string,
  budget: Budget,
): Promise<DirectoryIdentity> {
  const { settings } = directory
  const found = searchesForUser(settings)
    ? await findUser(directory, username, budget)
    : constructedUser(settings, username)
  if (hasServiceAccount(settings)) {
    const user = await proved(found, settings, (name) => directory.bindUser(name, password, budget))
    return identityOf(directory, user, username, byService(directory, budget), budget)
  }
  // Without a service account, searches run as the user, on the user's own connection.
  const connection = await directory.connect(budget)
  try {
    const user = await proved(found, settings, (name) => connection.bind(name, password, budget))
    return await identityOf(directory, user, username, (run) => run(connection), budget)
  } finally {
    connection.close()
  }
}

/** Binds as the user who was found. A password that is wrong is the user's failure, not the directory's. */
async function proved(
  found: User | null,
  { userdn }: DirectorySettings,
  bind: (name: string) => Promise<void>,
): Promise<User> {
  if (found === null) {
    // As long as for a user who exists, as far as that is up to this side. Whatever is answered, nobody logs in.
    await bind(`cn=${randomUUID()},${userdn}`).catch(() => undefined)
    throw nobody()
  }
  try {
    await bind(found.bindName)
    return found
  } catch (error) {
    if (!(error instanceof DirectoryError) || error.resultCode !== invalidCredentials) throw error
    throw new DirectoryError('user', error.message, {
      resultCode: invalidCredentials,
      cause: error,
    })
  }
}

async function identityOf(
  directory: Directory,
  found: User,
  username: string,
  search: Searcher,
  budget: Budget,
): Promise<DirectoryIdentity> {
  const { settings, chainRule } = directory
  const userDn = await userDnOf(settings, found, username, search, budget)
  const groups = await groupsOf(
    settings,
    { userDn, username },
    {
      search,
      anonymous: (run) => directory.search('unbound', budget, run),
      chainRule,
      budget,
    },
  )
  const { alias } = found
  const ofEntry: Alias = { rule: 'dn', name: normalisedDn(userDn) }
  return { userDn, aliases: alias.rule === 'dn' ? [alias] : [alias, ofEntry], groups }
}

/** Runs searches as the service account, or else as the user. */
export type Searcher = <T>(run: (connection: DirectoryConnection) => Promise<T>) => Promise<T>

function byService(directory: Directory, budget: Budget): Searcher {
  return (run) => directory.search('service', budget, run)
}

/** Null: none, or more than one. */
async function findUser(
  directory: Directory,
  username: string,
  budget: Budget,
): Promise<User | null> {
  const { settings } = directory
  const entries = await directory.search('service', budget, (connection) =>
    oneOrTooMany(connection, userSearch(settings, username), budget),
  )
  const [entry] = entries
  if (entry === undefined || entries.length > 1) return null
  // An entry without a name would be bound to anonymously, which succeeds with any password.
  if (entry.dn.trim() === '') throw new DirectoryError('protocol', 'the entry has no name')
  return { bindName: entry.dn, alias: aliasOf(settings, username, entry) }
}

/** A size limit that is exceeded means more than one, not a failure. */
async function oneOrTooMany(
  connection: DirectoryConnection,
  search: Search,
  budget: Budget,
): Promise<readonly FoundEntry[]> {
  try {
    return await connection.search(search, budget)
  } catch (error) {
    if (error instanceof DirectoryError && error.resultCode === sizeLimitExceeded) return []
    throw error
  }
}

const sizeLimitExceeded = 4

function userSearch(settings: DirectorySettings, username: string): Search {
  return {
    base: settings.userdn,
    scope: 'sub',
    filter: parseFilter(userFilterText(settings, username)),
    attributes: [settings.userattr],
    dereference: settings.dereferenceAliases,
    sizeLimit: 2,
  }
}

/** What is sent to find the user. */
export function userFilterText(settings: DirectorySettings, username: string): string {
  const { userfilter, userattr, upndomain, enableSamaccountnameLogin } = settings
  const escaped = escapeFilterValue(username)
  const text = userfilter === '' ? defaultUserFilter : userfilter
  const filter = fillTemplate(parseTemplate(text, ['UserAttr', 'Username'], 'userfilter'), {
    UserAttr: upndomain === '' ? userattr : 'userPrincipalName',
    Username: upndomain === '' ? escaped : `${escaped}@${escapeFilterValue(upndomain)}`,
    UserDN: '',
  })
  if (upndomain === '' || !enableSamaccountnameLogin) return filter
  const whole = filter.startsWith('(') ? filter : `(${filter})`
  return `(|${whole}(sAMAccountName=${escaped}))`
}

function constructedUser(settings: DirectorySettings, username: string): User {
  const { upndomain, userattr, userdn } = settings
  const escaped = escapeDnValue(username)
  const bindName = upndomain === '' ? `${userattr}=${escaped},${userdn}` : `${escaped}@${upndomain}`
  return { bindName, alias: aliasWithout(settings, username, bindName) }
}

/** After a search: the value of `userattr`, or else the entry's name. Of several values, the one that was logged in with. */
function aliasOf(settings: DirectorySettings, username: string, entry: FoundEntry): Alias {
  if (settings.usernameAsAlias) return loginNameAlias(settings, username)
  const values = entry
    .values(settings.userattr)
    .map(String)
    .filter((value) => value !== '')
  const same = values.find((value) => normalName(value) === normalName(username))
  const name = same ?? values.toSorted()[0]
  if (name === undefined) return { rule: 'dn', name: normalisedDn(entry.dn) }
  return namedBy(`attribute:${settings.userattr.toLowerCase()}`, settings, name)
}

function aliasWithout(settings: DirectorySettings, username: string, bindName: string): Alias {
  if (settings.usernameAsAlias) return loginNameAlias(settings, username)
  return settings.upndomain === ''
    ? { rule: 'dn', name: normalisedDn(bindName) }
    : namedBy('upn', settings, `${username}@${settings.upndomain}`)
}

function loginNameAlias(settings: DirectorySettings, username: string): Alias {
  return namedBy('username', settings, username)
}

/**
 * Directories ignore blanks, letter case and more (`normalName`), and one person must not become many. Names that count letter by letter are by a
 * rule of their own: under one rule, `Ada` and `ada` would be two people after a change of the setting.
 */
function namedBy(rule: string, { caseSensitiveNames }: DirectorySettings, name: string): Alias {
  return caseSensitiveNames
    ? { rule: `${rule}:exact`, name: name.trim() }
    : { rule, name: normalName(name) }
}

/** With `upndomain` and no search for the user, the name that was bound is no DN: it is looked up. */
async function userDnOf(
  settings: DirectorySettings,
  found: User,
  username: string,
  search: Searcher,
  budget: Budget,
): Promise<string> {
  if (settings.upndomain === '' || searchesForUser(settings)) return found.bindName
  const escaped = escapeFilterValue(username)
  const byName = `(userPrincipalName=${escaped}@${escapeFilterValue(settings.upndomain)})`
  const text = settings.enableSamaccountnameLogin
    ? `(|${byName}(sAMAccountName=${escaped}))`
    : byName
  const entries = await search((connection) =>
    oneOrTooMany(
      connection,
      {
        base: settings.userdn,
        scope: 'sub',
        filter: parseFilter(text),
        attributes: ['1.1'],
        dereference: settings.dereferenceAliases,
        sizeLimit: 2,
      },
      budget,
    ),
  )
  const [entry] = entries
  if (entry === undefined || entries.length > 1 || entry.dn.trim() === '') {
    throw new DirectoryError('user', 'no entry, or more than one, has this principal name')
  }
  return entry.dn
}
