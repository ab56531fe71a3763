/**
 * Finds the store in a machine's folder, or makes the first one, and checks that this program can read it.
 */
import { codeOf, fullTextOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { assertKnown } from './cluster-version.ts'
import { Batch } from './batch.ts'
import { Caches } from './caches.ts'
import type { Domain } from './domain.ts'
import { assertFormat } from './folder.ts'
import type { StateFolder } from './folder.ts'
import { assertCurrentFile } from './level-folder.ts'
import { formatRow, generationsRow, stateFormat } from './meta.ts'
import { firstPosition, readCommandVersion, readPosition } from './position.ts'
import { State } from './state.ts'
import { Store } from './store.ts'
import type { StoreLimits } from './store.ts'
import type { Tables } from './table.ts'

export type OpenedStore = { readonly name: string; readonly store: Store }

/**
 * A state that is damaged: `refuse` ends the start; `setAside` puts it out of the way and begins with an empty one, which
 * the log, or another server's snapshot, fills.
 */
export type OnDamage = 'refuse' | 'setAside'

export type OpenStoreOptions = {
  readonly folder: StateFolder
  readonly tables: Tables
  readonly limits: StoreLimits
  readonly domains: readonly Domain[]
  /** The newest that this program knows. */
  readonly commandVersion: number
  readonly onDamage: () => Promise<OnDamage>
  readonly logger: Logger
}

/** For an operator, where nothing else can be built from. */
const whatToDo =
  'nothing else here holds all of it: move the data folder away, start with an empty one, and let it join the others or restore an archive into it'

export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { folder, onDamage, logger } = options
  try {
    return await openCurrent(options)
  } catch (error) {
    if (codeOf(error) !== 'corrupt') throw error
    if ((await onDamage()) === 'refuse') {
      throw new MusterError('corrupt', `${textOf(error)}; ${whatToDo}`, { cause: error })
    }
    const aside = await folder.setAside()
    logger.error('the state cannot be opened; it is set aside and built anew', {
      reason: fullTextOf(error),
      setAsideTo: aside,
    })
    return createStore(options)
  }
}

async function openCurrent(options: OpenStoreOptions): Promise<OpenedStore> {
  const { folder, limits, logger } = options
  const current = await folder.current()
  if (current === null) return createStore(options)
  // Before anything is removed: another folder may be the state when this one is not.
  await assertCurrentFile(folder.pathOf(current))
  await folder.removeOthers(current)
  await folder.unmark(current)
  const damage = await folder.damageOf(current)
  if (damage !== null) {
    const text = `the state in ${folder.pathOf(current)} could not be read when this server ran last`
    const reason = damage.trim()
    throw new MusterError('corrupt', reason === '' ? text : `${text}: ${reason}`)
  }
  const store = await Store.open(folder.pathOf(current), limits)
  if (store.logCut !== null) logger.warn('cut the torn end of the state', store.logCut)
  try {
    const bytes = store.get(formatRow.key)
    if (bytes === undefined) {
      throw new MusterError('corrupt', `the state in ${store.folder} does not say its format`)
    }
    assertFormat(formatRow.decode(bytes), store.folder)
    assertKnown(readCommandVersion(store, null), options.commandVersion)
    await readPosition(store, null)
    return { name: current, store }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The rows that every state begins with; whole on disk before `STATE` names it. */
async function createStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { folder, tables, limits, domains } = options
  await folder.removeOthers('')
  const name = await folder.begin()
  const store = await Store.open(folder.pathOf(name), limits)
  try {
    const batch = new Batch(tables, new State(store, firstPosition, [], new Caches()))
    for (const { seed } of domains) batch.change(0, seed ?? [])
    batch.finish()
    const rows = new Map(batch.rows)
    rows.set(generationsRow.key, generationsRow.encode(firstPosition.generations))
    rows.set(formatRow.key, formatRow.encode(stateFormat))
    await store.write(rows)
    await store.settle()
    await folder.choose(name)
    return { name, store }
  } catch (error) {
    await store.close()
    throw error
  }
}
