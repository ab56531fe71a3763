/** `config` below a directory mount: read with defaults, written by merging. */
import { CoercedFields } from '../../api/coerced-fields.ts'
import { dataReply, envelope, writtenReply } from '../../api/envelope.ts'
import { consistency } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { loginTokenFields } from '../acl/token-fields-routes.ts'
import type { MountedRoute } from '../logins/mounted-routes.ts'
import type { ConfigChange } from './config-change-model.ts'
import { ldapMethods } from './methods.ts'
import {
  defaultConfig,
  dereferenceWords,
  filterTemplateLengthMax,
  pageSizeMax,
  pageSizeMin,
  pemLengthMax,
  rotationMsMax,
  scheduleTextMax,
  textLengthMax,
  timeoutMsMax,
  urlLengthMax,
} from './model.ts'
import { tlsVersions } from './tls-model.ts'
import { shownConfig } from './shown.ts'
import { ConfigBody, ShownConfig } from './shapes.ts'

/** Two chains of certificates and a key. */
const bodyBytesMax = 262_144

export const configRoutes: readonly MountedRoute[] = [
  {
    method: 'GET',
    path: 'config',
    summary: 'Read the configuration of a directory login method',
    permission: 'auth:read',
    query: consistency,
    reply: dataReply(ShownConfig),
    example: {},
    handle: async (request, { mount: { id, path } }) => {
      const { value } = await request.query(ldapMethods.readConfig, { at: { id, path } })
      return envelope(request, { data: shownConfig(value.config), warnings: value.warnings })
    },
  },
  {
    method: 'POST',
    path: 'config',
    summary: 'Configure a directory login method',
    permission: 'auth:write',
    bodySchema: ConfigBody,
    bodyBytesMax,
    atLeast: [{ resource: 'auth', access: 'write' }],
    reply: writtenReply,
    errors: ['not_found'],
    example: {
      body: {
        url: 'ldaps://directory.example:636',
        userdn: 'ou=people,dc=example',
        userattr: 'uid',
        groupdn: 'ou=groups,dc=example',
        use_token_groups: false,
      },
      status: 204,
    },
    handle: async (request, { mount: { id, path } }) => {
      const change = changeOf(new CoercedFields(request.json))
      const { warnings } = await request.call(ldapMethods.writeConfig, { at: { id, path }, change })
      return envelope(request, { warnings })
    },
  },
  {
    method: 'POST',
    path: 'config/rotate-root',
    summary: 'Replace the password of a directory’s service account',
    permission: 'auth:write',
    body: 'none',
    reply: writtenReply,
    errors: ['conflict', 'outcome_unknown'],
    example: { status: 400 },
    handle: async (request, { mount: { id, path } }) => {
      await request.call(
        ldapMethods.rotateRoot,
        { at: { id, path } },
        { timeoutMs: rotationMsBound },
      )
      return envelope(request, {})
    },
  },
]

/** Beyond what an attempt takes. */
const rotationMsBound = 60_000

/** Texts by their member in the body, and how long they may be. */
const texts = {
  url: ['url', urlLengthMax],
  certificate: ['certificate', pemLengthMax],
  client_tls_cert: ['clientTlsCert', pemLengthMax],
  binddn: ['binddn', textLengthMax],
  userdn: ['userdn', textLengthMax],
  userattr: ['userattr', textLengthMax],
  upndomain: ['upndomain', textLengthMax],
  userfilter: ['userfilter', filterTemplateLengthMax],
  groupfilter: ['groupfilter', filterTemplateLengthMax],
  groupdn: ['groupdn', textLengthMax],
  groupattr: ['groupattr', textLengthMax],
  rotation_schedule: ['rotationSchedule', scheduleTextMax],
} as const

const booleans = {
  case_sensitive_names: 'caseSensitiveNames',
  starttls: 'starttls',
  insecure_tls: 'insecureTls',
  discoverdn: 'discoverdn',
  deny_null_bind: 'denyNullBind',
  anonymous_group_search: 'anonymousGroupSearch',
  username_as_alias: 'usernameAsAlias',
  use_token_groups: 'useTokenGroups',
  enable_samaccountname_login: 'enableSamaccountnameLogin',
  disable_automated_rotation: 'disableAutomatedRotation',
} as const

const durations = {
  connection_timeout: ['connectionTimeoutMs', timeoutMsMax],
  request_timeout: ['requestTimeoutMs', timeoutMsMax],
  rotation_period: ['rotationPeriodMs', rotationMsMax],
  rotation_window: ['rotationWindowMs', rotationMsMax],
} as const

/** What is absent from the body is absent here. */
function changeOf(fields: CoercedFields): ConfigChange {
  const plain: Record<string, unknown> = {}
  for (const [name, [member, lengthMax]] of Object.entries(texts)) {
    const value = textOf(fields, name, lengthMax)
    if (value !== undefined) plain[member] = value
  }
  for (const [name, member] of Object.entries(booleans)) {
    const value = fields.boolean(name)
    if (value !== undefined) plain[member] = value
  }
  for (const [name, [member, msMax]] of Object.entries(durations)) {
    const value = fields.durationMs(name)
    if (value === undefined) continue
    if (value > msMax) throw refused(`${name} must be at most ${msMax / 1_000} seconds`)
    plain[member] = value
  }
  const pageSize = fields.integer('max_page_size')
  if (pageSize !== undefined) {
    if (pageSize < pageSizeMin || pageSize > pageSizeMax) {
      throw refused(`max_page_size must be at most ${pageSizeMax}; 0 or less: no pages`)
    }
    plain['maxPageSize'] = pageSize
  }
  setWord(plain, 'tlsMinVersion', fields, 'tls_min_version', tlsVersions)
  setWord(plain, 'tlsMaxVersion', fields, 'tls_max_version', tlsVersions)
  setWord(plain, 'dereferenceAliases', fields, 'dereference_aliases', dereferenceWords)
  if (typeof plain['url'] === 'string')
    plain['url'] = plain['url'].toLowerCase() || defaultConfig.url
  if (typeof plain['userattr'] === 'string') {
    plain['userattr'] = plain['userattr'].toLowerCase() || defaultConfig.userattr
  }
  const bindpass = textOf(fields, 'bindpass', textLengthMax)
  const clientTlsKey = textOf(fields, 'client_tls_key', pemLengthMax)
  return {
    plain,
    tokens: loginTokenFields(fields, { old: false }),
    ...(bindpass !== undefined && { bindpass }),
    ...(clientTlsKey !== undefined && { clientTlsKey }),
  }
}

function textOf(fields: CoercedFields, name: string, lengthMax: number): string | undefined {
  const value = fields.string(name)
  if (value !== undefined && value.length > lengthMax) {
    throw refused(`${name} must have at most ${lengthMax} characters`)
  }
  if (value?.includes('\0') === true) throw refused(`${name} must not have a NUL character`)
  return value
}

/** Letter case counts, and an empty text is no word. */
function setWord(
  plain: Record<string, unknown>,
  member: string,
  fields: CoercedFields,
  name: string,
  words: readonly string[],
): void {
  const value = fields.string(name)
  if (value === undefined) return
  if (!words.includes(value)) throw refused(`${name} must be one of ${words.join(', ')}`)
  plain[member] = value
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
