/** What a container may do besides what anybody may: Docker's own choice, what its task adds, and less what that drops. */
import { capabilityName } from '../capability-name.ts'
import { capsDefault } from './settings.ts'
import { wrong, type Config } from './task-config.ts'

export type Capabilities = {
  readonly CapDrop: readonly string[]
  readonly CapAdd: readonly string[]
}

/** Throws `invalid_argument` for what the agent does not allow. */
export function capabilitiesOf(
  { cap_add: add = [], cap_drop: drop = [] }: Config,
  allowed: readonly string[],
): Capabilities {
  const allowsAll = allowed.includes('all')
  const allows = (name: string): boolean => allowsAll || allowed.includes(name)
  const added = add.map(capabilityName)
  const dropped = new Set(drop.map(capabilityName))
  const refused = added.filter((name) => !allows(name))
  if (refused.length > 0) {
    const list = allowed.length === 0 ? 'none' : allowed.join(', ')
    throw wrong(
      `docker: cap_add may not have ${refused.join(', ')}; this agent allows ${list} (allow_caps)`,
    )
  }
  const basis = dropped.has('all') ? [] : capsDefault.filter(allows)
  const all = [...new Set([...basis, ...added])].filter((name) => !dropped.has(name))
  return { CapDrop: ['ALL'], CapAdd: all.map((name) => name.toUpperCase()) }
}
