/** Mounts as clients of Vault read them. */
import { shownMountType, type MountRow } from './model.ts'

export type ShownMount = {
  readonly type: string
  readonly description: string
  readonly accessor: string
  readonly uuid: string
  readonly local: boolean
  readonly seal_wrap: boolean
  readonly external_entropy_access: boolean
  readonly options: null
  readonly config: {
    readonly default_lease_ttl: number
    readonly max_lease_ttl: number
    readonly force_no_cache: boolean
    readonly token_type: string
  }
}

const fixed = {
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  options: null,
} as const

/** Of the tokens themselves: always there, and not a login method. */
export const tokenMount: ShownMount = {
  type: 'token',
  description: 'token based credentials',
  accessor: 'auth_token_00000000',
  uuid: 'first-token',
  ...fixed,
  config: {
    default_lease_ttl: 0,
    max_lease_ttl: 0,
    force_no_cache: false,
    token_type: 'default-service',
  },
}

export function shownMount(mount: MountRow): ShownMount {
  const { description, accessor, id, defaultLeaseTtlMs, maxLeaseTtlMs, tokenType } = mount
  return {
    type: shownMountType(mount),
    description,
    accessor,
    uuid: id,
    ...fixed,
    config: {
      default_lease_ttl: Math.floor(defaultLeaseTtlMs / 1_000),
      max_lease_ttl: Math.floor(maxLeaseTtlMs / 1_000),
      force_no_cache: false,
      token_type: tokenType,
    },
  }
}
