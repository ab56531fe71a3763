/**
 * Templates of Vault in names of rules, as in `auth/ldap/users/{{identity.entity.name}}`. Rules here know none: such a name would stand for itself
 * alone, and a rule that denies would deny nothing. So it is with wildcards inside of the paths that login methods are tuned by. Policies that
 * were stored before this was looked at are read as they were.
 */
import { mayHaveEffect, refuseWildcards } from './path-pattern-model.ts'
import { isWithoutEffect } from './policy-model.ts'
import { parsePolicySource, refuse, type SourceBlock } from './policy-source-model.ts'

const opening = '{{'

/** Of a new policy. Throws `invalid_argument` for a template in a name that has an effect, and for such a wildcard. */
export function refuseTemplates(text: string): void {
  for (const block of parsePolicySource(text).blocks) {
    if (block.kind === 'path') refusePath(block)
    else if (!isWithoutEffect(block.kind)) refuseIn(block)
  }
}

function refusePath({ labels: [path = ''], where }: SourceBlock): void {
  const at = path.indexOf(opening)
  if (at >= 0 && mayHaveEffect(path.slice(0, at))) refuseName(path, where)
  refuseWildcards(path, where)
}

function refuseIn({ labels: [name = ''], body, where }: SourceBlock): void {
  if (name.includes(opening)) refuseName(name, where)
  for (const block of body.blocks) refuseIn(block)
}

function refuseName(name: string, where: string): never {
  return refuse(
    where,
    `${JSON.stringify(name.slice(0, 64))} has a template, and there are none here: write a rule for each name, or one with *`,
  )
}
