/** What may be asked about mounts. */
import { randomBytes, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import type { Requirement } from '../../rpc/method.ts'
import { disableMount, enableMount, tuneMount } from './commands.ts'
import {
  checkMountPath,
  checkMountType,
  Lockout,
  lockoutDefault,
  mountDescriptionBytesMax,
  MountSettings,
  mountsMax,
  mountPathLengthMax,
  tokenPath,
  type MountRow,
} from './model.ts'
import { allMounts } from './queries.ts'
import { mountRows } from './table.ts'

/** As it was sent: `checkMountPath` says what is wrong with it. */
const Path = Type.String({ maxLength: 4 * mountPathLengthMax })

const Settings = {
  description: Type.Optional(Type.String()),
  defaultLeaseTtlMs: Type.Optional(MountSettings.properties.defaultLeaseTtlMs),
  maxLeaseTtlMs: Type.Optional(MountSettings.properties.maxLeaseTtlMs),
  tokenType: Type.Optional(MountSettings.properties.tokenType),
  lockout: Type.Optional(Type.Partial(Lockout)),
}

const list = defineQuery({
  kind: 'query',
  name: 'logins.mounts',
  args: Type.Object({}),
  requires: () => ({ resource: 'auth', path: 'sys/auth', access: 'read' }),
  query: async (reader) => ({
    value: await allMounts(reader),
    index: reader.tableIndex(mountRows),
  }),
})

const read = defineQuery({
  kind: 'query',
  name: 'logins.mount',
  args: Type.Object({ path: Path, tune: Type.Boolean() }),
  requires: ({ path, tune }) => ofPath(tune ? `${path}/tune` : path, 'read'),
  query: async (reader, { path }) => {
    const mount = (await allMounts(reader)).find((known) => known.path === path)
    const value: MountRow | null = mount ?? null
    return { value, index: reader.tableIndex(mountRows) }
  },
})

const enable = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'logins.enable',
  args: Type.Object({ path: Path, type: Type.String(), ...Settings }),
  requires: ({ path }) => ofPath(path, 'write'),
  run: async (context, { path: given, type: word, lockout, ...settings }): Promise<MountRow> => {
    const path = checkMountPath(given)
    const type = checkMountType(word)
    checkDescription(settings.description)
    const { defaultLeaseTtlMs = 0, maxLeaseTtlMs = 0 } = settings
    if (maxLeaseTtlMs > 0 && defaultLeaseTtlMs > maxLeaseTtlMs) throw defaultAboveMax()
    const { outcome } = await context.propose(enableMount, {
      path,
      id: randomUUID(),
      type,
      // By the word that was sent: what `kubernetes` was asked for is shown as that.
      accessor: `auth_${word}_${randomBytes(4).toString('hex')}`,
      description: settings.description?.toWellFormed() ?? '',
      defaultLeaseTtlMs,
      maxLeaseTtlMs,
      tokenType: settings.tokenType ?? 'default-service',
      lockout: { ...lockoutDefault, ...lockout },
    })
    switch (outcome.type) {
      case 'enabled':
        return outcome.row
      case 'taken':
        throw new MusterError('invalid_argument', `path is already in use at ${outcome.path}/`)
      case 'full':
        throw new MusterError('invalid_argument', `at most ${mountsMax} mounts may be enabled`)
      default:
        return assertNever(outcome)
    }
  },
})

const disable = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'logins.disable',
  endsTokens: true,
  args: Type.Object({ path: Path }),
  requires: ({ path }) => ofPath(path, 'delete'),
  run: async (context, { path }): Promise<{ readonly existed: boolean }> => {
    if (path.length > mountPathLengthMax || path === '') return { existed: false }
    if (path === tokenPath) throw fixed('disabled')
    const nowMs = Math.floor(context.clock.wallMs())
    const { outcome } = await context.propose(disableMount, { path, nowMs })
    return outcome
  },
})

const tune = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'logins.tune',
  args: Type.Object({ path: Path, ...Settings }),
  requires: ({ path }) => ofPath(`${path}/tune`, 'write'),
  run: async (context, { path, ...settings }): Promise<MountRow> => {
    checkDescription(settings.description)
    if (path.length > mountPathLengthMax || path === '') throw noMount(path)
    if (path === tokenPath) throw fixed('tuned')
    const { outcome } = await context.propose(tuneMount, {
      path,
      ...settings,
      ...(settings.description !== undefined && {
        description: settings.description.toWellFormed(),
      }),
    })
    switch (outcome.type) {
      case 'tuned':
        return outcome.row
      case 'absent':
        throw noMount(path)
      case 'defaultAboveMax':
        throw defaultAboveMax()
      default:
        return assertNever(outcome)
    }
  },
})

export const mountMethods = { list, read, enable, disable, tune }

function ofPath(path: string, access: 'read' | 'write' | 'delete'): Requirement {
  return { resource: 'auth', path: `sys/auth/${path}`, access }
}

function checkDescription(text: string | undefined): void {
  if (text === undefined || Buffer.byteLength(text) <= mountDescriptionBytesMax) return
  throw new MusterError(
    'invalid_argument',
    `description may have at most ${mountDescriptionBytesMax} bytes`,
  )
}

function defaultAboveMax(): MusterError {
  return new MusterError(
    'invalid_argument',
    'default_lease_ttl must not be greater than max_lease_ttl',
  )
}

function fixed(what: 'disabled' | 'tuned'): MusterError {
  return new MusterError('invalid_argument', `the token endpoints at token/ cannot be ${what}`)
}

function noMount(path: string): MusterError {
  return new MusterError(
    'not_found',
    `no login method is enabled at ${JSON.stringify(path.slice(0, mountPathLengthMax))}`,
  )
}
