/** What the routes of the directory login method take and answer. */
import { Type } from 'typebox'
import { count, flag, text } from '../../api/shape.ts'
import { dereferenceWords } from './model.ts'
import { tlsVersions } from './tls-model.ts'

const Duration = (description: string) =>
  Type.Unsafe({ type: ['string', 'integer'], description: `${description}; seconds or as \`1h\`` })
const List = (description: string) =>
  Type.Unsafe({
    type: ['string', 'array'],
    items: { type: 'string' },
    description: `${description}; an array, or one text with commas`,
  })
const Tls = Type.Enum([...tlsVersions])

/** By name: how it is written, and how it is shown. */
const plain = {
  url: text('URL of the directory, or several with commas between, tried in order'),
  case_sensitive_names: flag('Local users and groups are told apart by letter case'),
  starttls: flag('Begin TLS on an `ldap://` connection'),
  tls_min_version: Tls,
  tls_max_version: Tls,
  insecure_tls: flag('Do not verify the certificate of the directory'),
  certificate: text('Authorities that sign its certificate, in PEM; empty: those of the system'),
  client_tls_cert: text('Certificate that this server shows, in PEM'),
  binddn: text('Distinguished name of the service account that searches'),
  userdn: text('Where users are searched'),
  userattr: text('Attribute that holds the name of the login'),
  discoverdn: flag('Search for the user anonymously'),
  deny_null_bind: flag('Refuse an empty password'),
  upndomain: text('Bind as `<name>@<domain>`'),
  userfilter: text('Template of the search for the user'),
  anonymous_group_search: flag('Search for groups anonymously'),
  groupfilter: text('Template of the search for groups'),
  groupdn: text('Where groups are searched; empty: nowhere'),
  groupattr: text('Attribute that holds the names of groups; empty: `cn`'),
  username_as_alias: flag('The name of the login is the alias'),
  dereference_aliases: Type.Enum([...dereferenceWords]),
  use_token_groups: flag('Groups are those of the attribute `tokenGroups`'),
  enable_samaccountname_login: flag('With `upndomain`, `sAMAccountName` finds the user too'),
  rotation_schedule: text('When the password of the service account is replaced, as in cron'),
  disable_automated_rotation: flag('Do not replace it by the clock'),
  token_no_default_policy: flag('Tokens do not get the policy `default`'),
} as const

const pages = {
  max_page_size: Type.Integer({
    description: 'Entries of one page of a group search; 0 or less: no pages',
  }),
} as const

const counts = {
  token_num_uses: 'Requests that a token is good for; 0: not limited',
} as const

const durations = {
  connection_timeout: 'Time to connect to one URL',
  request_timeout: 'Time for one request to the directory',
  rotation_period: 'How often the password of the service account is replaced; 0: never',
  rotation_window: 'How long a scheduled replacement may take; 0: as long as it takes',
  token_ttl: 'Lifetime of a token',
  token_max_ttl: 'Longest lifetime of a token, renewals included',
  token_explicit_max_ttl: 'The same, fixed at the login',
  token_period: 'A token is renewed for this long, without end',
} as const

const mapped = <Names extends Readonly<Record<string, string>>, Schema>(
  names: Names,
  schema: (description: string) => Schema,
) =>
  Object.fromEntries(Object.entries(names).map(([name, text]) => [name, schema(text)])) as {
    readonly [Name in keyof Names]: Schema
  }

export const ConfigBody = Type.Partial(
  Type.Object({
    ...plain,
    ...pages,
    ...mapped(counts, count),
    ...mapped(durations, Duration),
    bindpass: text('Password of the service account: kept sealed, never shown'),
    client_tls_key: text('Key of `client_tls_cert`, in PEM: kept sealed, never shown'),
    token_policies: List('Policies of every token'),
    policies: List('Older name of `token_policies`'),
    token_bound_cidrs: List('Networks from which logins are accepted and tokens may be used'),
    token_type: text('`service`, `batch`, or `default`: as the mount says'),
  }),
)

export const ShownConfig = Type.Object(
  {
    ...plain,
    ...pages,
    ...mapped(counts, count),
    ...mapped(durations, (description) => count(`${description}, in seconds`)),
    bindpass: text('Always empty'),
    token_policies: Type.Array(Type.String()),
    token_bound_cidrs: Type.Array(Type.String()),
    token_type: Type.Enum(['service', 'batch', 'default']),
  },
  { title: 'DirectoryConfig' },
)

export const GroupBody = Type.Object({
  policies: Type.Optional(List('Policies of the group; absent: none')),
})

export const ShownGroup = Type.Object({ policies: Type.Array(Type.String()) })

export const UserBody = Type.Object({
  policies: Type.Optional(List('Policies of the user; absent: none')),
  groups: Type.Optional(List('Groups of the user beside those of the directory; absent: none')),
})

export const ShownUser = Type.Object({
  policies: Type.Array(Type.String()),
  groups: text('With commas between'),
})

export const LoginBody = Type.Object({ password: text('Password of the user') })
