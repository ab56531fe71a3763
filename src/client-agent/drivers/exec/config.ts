/** What a job may say to the driver `exec`. */
import { Type } from 'typebox'
import { capabilityName } from '../capability-name.ts'
import { checkedConfig, ConfigFault } from '../checked-config.ts'

/**
 * Those of a task that leave its walls as they are. With another one, as `chown` or `dac_override`, a task could make files that are
 * root's also outside of them.
 */
const capabilities = ['audit_write', 'kill', 'net_bind_service'] as const

const Mode = Type.Union([Type.Literal('private'), Type.Literal('host')])
const Names = Type.Array(Type.String())
const schema = Type.Object(
  {
    command: Type.String({ minLength: 1 }),
    args: Type.Optional(Names),
    cap_add: Type.Optional(Names),
    cap_drop: Type.Optional(Names),
    pid_mode: Type.Optional(Mode),
    ipc_mode: Type.Optional(Mode),
  },
  { additionalProperties: false },
)

const wrong =
  'exec needs command, a text; args, cap_add and cap_drop are lists of texts, ipc_mode is "private" or "host"'
const rule = { driver: 'exec', schema, wrong } as const

export type ExecConfig = {
  readonly command: string
  readonly args: readonly string[]
  /** As `setpriv` has them, sorted. */
  readonly capabilities: readonly string[]
  readonly sharesIpc: boolean
}

/** Throws `ConfigFault`, `not_implemented` for what would be no wall. */
export function configOf(config: Readonly<Record<string, unknown>>): ExecConfig {
  const { command, args = [], cap_add = [], cap_drop = [], ...modes } = checkedConfig(rule, config)
  if (modes.pid_mode === 'host') {
    const text =
      'exec has no pid_mode "host": by the processes of others a task would reach their folders'
    throw new ConfigFault(text, 'not_implemented')
  }
  return {
    command,
    args,
    capabilities: capabilitiesOf(cap_add, cap_drop),
    sharesIpc: modes.ipc_mode === 'host',
  }
}

/** Of a task that asks for nothing: none. */
function capabilitiesOf(added: readonly string[], dropped: readonly string[]): readonly string[] {
  const without = new Set(dropped.map(capabilityName))
  const names = new Set(added.map(capabilityName))
  const strange = [...names].find((name) => !capabilities.some((known) => known === name))
  if (strange !== undefined) {
    const text = `exec adds no capability ${strange}; cap_add takes ${capabilities.join(', ')}`
    throw new ConfigFault(text)
  }
  return [...names].filter((name) => !without.has(name) && !without.has('all')).sort()
}
