/** Paths as Vault's policies name them, without `/v1/`: which of them there are rules for here, and what rules call them. */
import type { Requirement } from '../../rpc/method.ts'

type PathAccess = Extract<Requirement, { readonly resource: 'auth' }>['access']

/** Where Vault's command line tunes a login method: with the right for `sys/auth/<path>/tune`. */
const tunedMount = /^sys\/mounts\/auth\/(.+\/tune)$/

/** The name that `auth` rules have for a path; null: they are not for it. */
function authNameOf(path: string): string | null {
  if (path.startsWith('auth/')) return path.slice('auth/'.length)
  const tuned = tunedMount.exec(path)
  if (tuned !== null) return `sys/auth/${tuned[1] ?? ''}`
  return /^sys\/(?:auth|locked-users|capabilities|capabilities-accessor)(?:\/|$)/.test(path)
    ? path
    : null
}

/** Only management tokens write policies and roles. */
const ofAccessControl = /^(?:sys\/polic(?:y|ies\/acl)|identity\/entity)(?:\/|$)/

/** null: nothing that Vault's clients ask for. */
function requirementAt(path: string, access: PathAccess): Requirement | null {
  if (ofAccessControl.test(path)) {
    if (access === 'sudo') return null
    return { resource: 'acl', access: access === 'delete' ? 'write' : access }
  }
  // What is listed has the same name with a slash at its end and without.
  const name = authNameOf(access === 'list' ? path.replace(/\/+$/, '') : path)
  return name === null ? null : { resource: 'auth', path: name, access }
}

/** In Vault's words, sorted. */
export function capabilitiesAt(
  may: (requirement: Requirement) => boolean,
  path: string,
): readonly string[] {
  if (may({ resource: 'acl', access: 'write' })) return ['root']
  const bare = path.replace(/^\/+/, '')
  const granted = (access: PathAccess) => {
    const requirement = requirementAt(bare, access)
    return requirement !== null && may(requirement)
  }
  const words = [
    ...(granted('write') ? ['create'] : []),
    ...(granted('delete') ? ['delete'] : []),
    ...(granted('list') ? ['list'] : []),
    ...(granted('read') ? ['read'] : []),
    ...(granted('sudo') ? ['sudo'] : []),
    ...(granted('write') ? ['update'] : []),
  ]
  return words.length === 0 ? ['deny'] : words
}
