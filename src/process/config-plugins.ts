/** Which drivers may run tasks, as Nomad's files say it: `plugin "raw_exec" { config { enabled = true } }`. */
import Type, { type Static } from 'typebox'
import { driverNames, type DriverName } from '../client-agent/drivers/names.ts'

const closed = { additionalProperties: false } as const

const driver = Type.Optional(
  Type.Object(
    {
      config: Type.Optional(
        Type.Object(
          { enabled: Type.Optional(Type.Boolean({ description: 'true or false' })) },
          closed,
        ),
      ),
    },
    closed,
  ),
)

export const pluginSchema = Type.Optional(
  Type.Object({ raw_exec: driver, mock_driver: driver }, closed),
)

export function enabledDrivers(plugin: Static<typeof pluginSchema>): readonly DriverName[] {
  return driverNames.filter((name) => plugin?.[name]?.config?.enabled ?? false)
}
