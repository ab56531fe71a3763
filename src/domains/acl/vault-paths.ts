/** Paths as Vault's policies name them, without `/v1/`: which rights they ask for here. */
import type { Requirement } from '../../rpc/method.ts'
import { authNameOf } from './path-pattern-model.ts'
import { withoutSlashesAtEnd } from '../../lib/slashes.ts'

type PathAccess = Extract<Requirement, { readonly resource: 'auth' }>['access']

/** Only management tokens write policies and roles. */
const ofAccessControl = /^(?:sys\/polic(?:y|ies\/acl)|identity\/entity)(?:\/|$)/

/** null: nothing that Vault's clients ask for. */
function requirementAt(path: string, access: PathAccess): Requirement | null {
  if (ofAccessControl.test(path)) {
    if (access === 'sudo') return null
    return { resource: 'acl', access: access === 'delete' ? 'write' : access }
  }
  // What is listed has the same name with a slash at its end and without.
  const name = authNameOf(access === 'list' ? withoutSlashesAtEnd(path) : path)
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
