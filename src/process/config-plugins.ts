/**
 * Which drivers may run tasks, as Nomad's files say it: `plugin "raw_exec" { config { enabled = true } }`. As Nomad's, `exec` is on
 * unless a file says otherwise: its tasks have no rights of the agent.
 */
import Type from 'typebox'
import { driverNames, type DriverName } from '../client-agent/drivers/names.ts'
import { emptyBlock, flag } from './config-values.ts'

function driver(isOn: boolean, about: string) {
  const config = Type.Object({ enabled: flag({ default: isOn, about }) }, emptyBlock)
  return Type.Object({ config }, emptyBlock)
}

const drivers = '[drivers](client-agents.md#work) of a client agent, as blocks with a name'

export const pluginSchema = Type.Object(
  {
    exec: driver(true, drivers),
    raw_exec: driver(false, 'the same'),
    mock_driver: driver(false, 'the same'),
  },
  emptyBlock,
)

export type PluginFile = Type.StaticDecode<typeof pluginSchema>

export function enabledDrivers(plugin: PluginFile): readonly DriverName[] {
  return driverNames.filter((name) => plugin[name].config.enabled)
}
