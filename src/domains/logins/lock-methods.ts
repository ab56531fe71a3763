/** What an operator may ask about locked names. */
import { Type } from 'typebox'
import { dateText } from '../../lib/date-text.ts'
import { MusterError } from '../../lib/errors.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import { onePage, Page } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery, type LeaderContext } from '../../rpc/method.ts'
import { auditEvents } from '../host.ts'
import { unlockLogin } from './lock-commands.ts'
import { lockNameOf } from './lock-model.ts'
import type { MountRow } from './model.ts'
import { allMounts } from './queries.ts'
import { failedLogins, loginMethods } from './services.ts'
import { lockRows } from './table.ts'

export type ShownLock = {
  readonly mount_accessor: string
  readonly mount_path: string
  readonly alias: string
  readonly locked_until: string
}

const filters = new FilterCompiler({
  mount_accessor: 'string',
  mount_path: 'string',
  alias: 'string',
})

/** Those whose time is over are left out, by the clock of the server that answers. `prefix`: of the name. */
const list = defineQuery({
  kind: 'query',
  name: 'logins.locks',
  args: Type.Object({ ...Page, nowMs: Type.Number() }),
  requires: () => ({ resource: 'auth', path: 'sys/locked-users', access: 'read' }),
  query: async (reader, { nowMs, prefix, filter, ...page }, context) => {
    const mounts = new Map((await allMounts(reader)).map((mount) => [mount.id, mount]))
    const value = await onePage(context, page, {
      pages: reader.pages(lockRows),
      keyOf: lockRows.key,
      show: ({ mountId, name, untilMs }): ShownLock | null => {
        const mount = mounts.get(mountId)
        if (mount === undefined || untilMs <= nowMs || !name.startsWith(prefix)) return null
        return {
          mount_accessor: mount.accessor,
          mount_path: `auth/${mount.path}/`,
          alias: name,
          locked_until: dateText(untilMs),
        }
      },
      filter: filters.compile(filter),
    })
    return { value, index: reader.tableIndex(lockRows) }
  },
})

const unlock = defineLeaderMethod({
  kind: 'leader',
  name: 'logins.unlock',
  args: Type.Object({ accessor: Type.String(), name: Type.String() }),
  requires: () => ({ resource: 'auth', path: 'sys/locked-users', access: 'write' }),
  run: async (context, { accessor, name: given }): Promise<{ readonly existed: boolean }> => {
    const mounts = await allMounts(context.read())
    const mount = mounts.find((known) => known.accessor === accessor)
    if (mount === undefined) {
      throw new MusterError('invalid_argument', 'no login method has this accessor')
    }
    const method = context.service(loginMethods).get(mount.type)
    const normalised = method?.nameAtLogin?.(given) ?? given
    // An earlier version may have locked it by another rule: the name as the list shows it unlocks too.
    const names = new Set([normalised, given].flatMap((name) => lockNameOf(name) ?? []))
    if (names.size === 0) throw new MusterError('invalid_argument', 'the name is missing')
    let existed = false
    for (const name of names) existed = (await unlocked(context, mount, name)) || existed
    return { existed }
  },
})

/** Whether the name was locked. */
async function unlocked(context: LeaderContext, mount: MountRow, name: string): Promise<boolean> {
  const { accessor, caller, log } = context
  const { requestId, remote } = caller
  context.service(failedLogins).forget(mount.id, name)
  const { outcome } = await context.propose(unlockLogin, { mountId: mount.id, name })
  const { existed } = outcome
  if (existed) {
    context.service(auditEvents).note({
      type: 'unlock',
      requestId,
      remote,
      accessor,
      mount: mount.path,
      name,
      untilMs: null,
    })
  }
  log.info('a name was unlocked', { mount: mount.path, name, existed, requestId })
  return existed
}

export const lockMethods = { list, unlock }
