/** `/v1/sys/auth`: which login methods are enabled, where, and how their tokens are issued. */
import { Type, type Static } from 'typebox'
import { CoercedFields } from '../../api/coerced-fields.ts'
import { dataReply, envelope, nothingThere, writtenReply } from '../../api/envelope.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { smallBodyBytesMax } from '../../api/route.ts'
import { consistency, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { lifetimeOf } from '../acl/token-fields-routes.ts'
import { explainBelow, explainSuffix } from './explain-routes.ts'
import { mountMethods } from './methods.ts'
import {
  lockoutThresholdMax,
  MountTokenType,
  mountTtls,
  tokenPath,
  type Lockout,
  type MountRow,
} from './model.ts'
import { EnableBody, hiddenMount, ShownMount, TuneBody, Tuned } from './shapes.ts'
import { shownMount, tokenMount } from './shown.ts'
import { withoutOuterSlashes } from '../../lib/slashes.ts'

const ofPath = { path: text('Path of the mount: one segment') }
const ofTail = {
  '*': text('Path of the mount, slashes included; with `/tune` or `/explain` behind it as there'),
}

/** Each member of `data` also stands beside it. */
const tunedMember = Type.Unsafe({ description: 'As in `data`' })
const tuneSuffix = '/tune'
/** Vault's command line tunes login methods here, as it does secret engines. */
const ofTunedTail = { '*': text('Path of the mount, slashes included, and `/tune`') }

export const mountRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/sys/auth',
    summary: 'List login methods',
    permission: 'auth:read',
    query: consistency,
    reply: dataReply(mapOfMounts(), ShownMount),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(mountMethods.list, {})
      const shown = value.map((mount) => [`${mount.path}/`, shownMount(mount)] as const)
      const data = Object.fromEntries([...shown, ['token/', tokenMount] as const])
      return envelope(request, { data, beside: data })
    },
  },
  {
    method: 'GET',
    path: '/v1/sys/auth/:path/tune',
    summary: 'Read how a login method is tuned',
    permission: 'auth:read',
    params: ofPath,
    query: consistency,
    reply: dataReply(Tuned, tunedMember),
    errors: ['not_found'],
    example: { url: '/v1/sys/auth/ldap/tune' },
    handle: (request) => readTuned(request, request.parameter('path')),
  },
  {
    method: 'POST',
    path: '/v1/sys/auth/:path/tune',
    summary: 'Tune a login method',
    permission: 'auth:write',
    params: ofPath,
    bodySchema: TuneBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: writtenReply,
    errors: ['not_found'],
    example: {
      url: '/v1/sys/auth/ldap/tune',
      body: { default_lease_ttl: '1h', user_lockout_config: { lockout_threshold: 10 } },
      status: 204,
    },
    handle: (request) => tune(request, request.parameter('path')),
  },
  {
    method: 'GET',
    path: '/v1/sys/auth/*',
    summary: 'Read the mount of a login method',
    permission: 'auth:read',
    params: ofTail,
    query: consistency,
    reply: dataReply(Type.Union([ShownMount, Tuned]), tunedMember),
    errors: ['not_found'],
    example: { url: '/v1/sys/auth/ldap' },
    handle: async (request) => {
      const { path, isTune } = placeOf(request)
      if (isTune) return readTuned(request, path)
      const { value } = await request.query(mountMethods.read, { path, tune: false })
      if (value === null && path !== tokenPath) throw noMount()
      return envelope(request, { data: value === null ? tokenMount : shownMount(value) })
    },
  },
  {
    method: 'POST',
    path: '/v1/sys/auth/*',
    summary: 'Enable a login method',
    permission: 'auth:write',
    params: ofTail,
    bodySchema: EnableBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: writtenReply,
    // Of a tune or an explanation of a mount that is not there.
    errors: ['not_found'],
    example: {
      url: '/v1/sys/auth/team/ldap',
      body: { type: 'ldap', description: 'the directory of the team' },
      status: 204,
    },
    handle: async (request) => {
      const { path, isTune } = placeOf(request)
      if (isTune) return tune(request, path)
      if (path.endsWith(explainSuffix)) {
        return explainBelow(request, path.slice(0, -explainSuffix.length))
      }
      const fields = new CoercedFields(request.json)
      const { lockout: _lockout, ...settings } = settingsOf(fields.object('config'))
      const description = fields.string('description')
      await request.call(mountMethods.enable, {
        path,
        type: fields.string('type') ?? '',
        ...settings,
        ...(description !== undefined && { description }),
      })
      return envelope(request, {})
    },
  },
  {
    method: 'DELETE',
    path: '/v1/sys/auth/*',
    summary: 'Disable a login method',
    permission: 'auth:delete',
    params: ofTail,
    reply: { 204: {} },
    example: { url: '/v1/sys/auth/team/ldap', status: 204 },
    handle: async (request) => {
      await request.call(mountMethods.disable, { path: pathOf(request.tail) })
      return envelope(request, {})
    },
  },
  {
    method: 'GET',
    path: '/v1/sys/mounts/auth/*',
    summary: 'Read how a login method is tuned, as `vault read sys/mounts/auth/…/tune` asks',
    permission: 'auth:read',
    params: ofTunedTail,
    query: consistency,
    reply: dataReply(Tuned, tunedMember),
    errors: ['not_found'],
    example: { url: '/v1/sys/mounts/auth/ldap/tune' },
    handle: (request) => readTuned(request, tunedPathOf(request)),
  },
  {
    method: 'POST',
    path: '/v1/sys/mounts/auth/*',
    summary: 'Tune a login method, as `vault auth tune` asks',
    permission: 'auth:write',
    params: ofTunedTail,
    bodySchema: TuneBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: writtenReply,
    errors: ['not_found'],
    example: {
      url: '/v1/sys/mounts/auth/ldap/tune',
      body: { default_lease_ttl: '', max_lease_ttl: '24h' },
      status: 204,
    },
    handle: (request) => tune(request, tunedPathOf(request)),
  },
]

function mapOfMounts() {
  return Type.Record(Type.String(), ShownMount)
}

function pathOf(tail: string): string {
  return withoutOuterSlashes(tail)
}

/** Below `/v1/sys/mounts/auth`, where login methods can be tuned alone. */
function tunedPathOf(request: ApiRequest): string {
  const { path, isTune } = placeOf(request)
  if (!isTune) throw nothingThere()
  return path
}

function placeOf({ tail }: ApiRequest): { readonly path: string; readonly isTune: boolean } {
  const path = pathOf(tail)
  const isTune = path.endsWith(tuneSuffix)
  return { path: isTune ? path.slice(0, -tuneSuffix.length) : path, isTune }
}

async function readTuned(request: ApiRequest, path: string): Promise<ApiReply> {
  const { value } = await request.query(mountMethods.read, { path, tune: true })
  if (value === null && path !== tokenPath) throw noMount()
  const data = value === null ? tokenTuned : shownTuned(value)
  return envelope(request, { data, beside: data })
}

async function tune(request: ApiRequest, path: string): Promise<ApiReply> {
  const fields = new CoercedFields(request.json)
  const description = fields.string('description')
  await request.call(mountMethods.tune, {
    path,
    ...settingsOf(fields),
    ...(description !== undefined && { description }),
  })
  return envelope(request, {})
}

type Settings = {
  defaultLeaseTtlMs?: number
  maxLeaseTtlMs?: number
  tokenType?: Static<typeof MountTokenType>
  lockout?: Partial<Lockout>
}

function settingsOf(fields: CoercedFields = new CoercedFields({})): Settings {
  const defaultLeaseTtlMs = leaseTtlMsOf(fields, 'default_lease_ttl')
  const maxLeaseTtlMs = leaseTtlMsOf(fields, 'max_lease_ttl')
  const tokenType = tokenTypeOf(fields.string('token_type'))
  assertHidden(fields.string('listing_visibility'))
  const lockout = fields.object('user_lockout_config')
  return {
    ...(defaultLeaseTtlMs !== undefined && { defaultLeaseTtlMs }),
    ...(maxLeaseTtlMs !== undefined && { maxLeaseTtlMs }),
    ...(tokenType !== undefined && { tokenType }),
    ...(lockout !== undefined && { lockout: lockoutOf(lockout) }),
  }
}

/** Mounts are listed for those whose policies let them read them, and for nobody else. An empty text is the default. */
function assertHidden(text: string | undefined): void {
  if (text === undefined || text === '' || text === hiddenMount) return
  throw new MusterError(
    'invalid_argument',
    text === 'unauth'
      ? `listing_visibility "unauth" is not served, callers see the mounts that their policies let them read: leave it out, or send "${hiddenMount}"`
      : `listing_visibility must be "${hiddenMount}", or be left out`,
  )
}

/** As Vault's command line sends them: an empty text stands for a flag that was not given, `system` for the default. */
function leaseTtlMsOf(fields: CoercedFields, name: string): number | undefined {
  if (!fields.has(name)) return undefined
  const text = fields.string(name)
  if (text === '') return undefined
  return text === 'system' ? 0 : lifetimeOf(fields, name)
}

function lockoutOf(fields: CoercedFields): Partial<Lockout> {
  const threshold = fields.integer('lockout_threshold')
  if (threshold !== undefined && (threshold < 1 || threshold > lockoutThresholdMax)) {
    throw new MusterError(
      'invalid_argument',
      `lockout_threshold must be from 1 to ${lockoutThresholdMax}`,
    )
  }
  const durationMs = lifetimeOf(fields, 'lockout_duration')
  const counterResetMs = lifetimeOf(fields, 'lockout_counter_reset_duration')
  const disabled = fields.boolean('lockout_disable')
  return {
    ...(threshold !== undefined && { threshold }),
    ...(durationMs !== undefined && { durationMs }),
    ...(counterResetMs !== undefined && { counterResetMs }),
    ...(disabled !== undefined && { disabled }),
  }
}

/** An empty text is the default, as Vault's command line sends it. */
function tokenTypeOf(text: string | undefined): Static<typeof MountTokenType> | undefined {
  if (text === undefined) return undefined
  if (text === '') return 'default-service'
  const known = MountTokenType.enum.find((word) => word === text)
  if (known !== undefined) return known
  throw new MusterError(
    'invalid_argument',
    `token_type must be one of ${MountTokenType.enum.join(', ')}`,
  )
}

function shownTuned(mount: MountRow) {
  const { description, tokenType, lockout } = mount
  const { defaultTtlMs, maxTtlMs } = mountTtls(mount)
  return {
    default_lease_ttl: Math.floor(defaultTtlMs / 1_000),
    max_lease_ttl: Math.floor(maxTtlMs / 1_000),
    description,
    force_no_cache: false,
    token_type: tokenType,
    user_lockout_config: {
      lockout_threshold: lockout.threshold,
      lockout_duration: Math.floor(lockout.durationMs / 1_000),
      lockout_counter_reset_duration: Math.floor(lockout.counterResetMs / 1_000),
      lockout_disable: lockout.disabled,
    },
  }
}

const systemTtls = mountTtls({ defaultLeaseTtlMs: 0, maxLeaseTtlMs: 0 })

/** Of the token endpoints: nothing of it can be changed. */
const tokenTuned = {
  default_lease_ttl: Math.floor(systemTtls.defaultTtlMs / 1_000),
  max_lease_ttl: Math.floor(systemTtls.maxTtlMs / 1_000),
  description: tokenMount.description,
  force_no_cache: false,
  token_type: tokenMount.config.token_type,
}

function noMount(): MusterError {
  return new MusterError('not_found', 'no login method is enabled at this path')
}
