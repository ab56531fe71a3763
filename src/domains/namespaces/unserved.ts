/** What Nomad's namespaces have besides and nothing here keeps: a bound that would not hold is refused, not left out. */
import { MusterError } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'

/** The pool that every node is in, and the cluster that is there without a name. Nomad's clients send both. */
const defaultName = 'default'

const chosen = [
  ['NodePoolConfiguration', 'a namespace does not bound node pools here'],
  ['VaultConfiguration', "a namespace does not bound Vault's clusters here"],
  ['ConsulConfiguration', "a namespace does not bound Consul's clusters here"],
] as const

/** Throws `invalid_argument` with the path of the first member that says something. */
export function checkUnserved(raw: (name: string) => unknown): void {
  const capabilities = saying(raw('Capabilities'), 'Capabilities')
  refuse(capabilities, 'a namespace does not bound drivers or networks here')
  for (const [path, reason] of chosen) {
    const choice = raw(path)
    const isDefault = isJsonObject(choice) && choice['Default'] === defaultName
    refuse(
      saying(isDefault ? { ...choice, Default: '' } : choice, path),
      `${reason}; Default may be ${JSON.stringify(defaultName)}`,
    )
  }
  refuse(saying(raw('Quota'), 'Quota'), 'there are no quotas here')
}

/** The path of what says something; null: nothing does. */
function saying(value: unknown, path: string): string | null {
  if (!isJsonObject(value)) return isEmpty(value) ? null : path
  const [said] = Object.entries(value).find(([, member]) => !isEmpty(member)) ?? []
  return said === undefined ? null : `${path}.${said.slice(0, 100)}`
}

/** Null, false and 0 too. */
function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isJsonObject(value) ? Object.keys(value).length === 0 : !value
}

function refuse(path: string | null, reason: string): void {
  if (path === null) return
  throw new MusterError('invalid_argument', `${path} must be empty or absent: ${reason}`)
}
