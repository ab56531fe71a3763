/**
 * Which drivers may run tasks, as Nomad's files say it: `plugin "raw_exec" { config { enabled = true } }`. As Nomad's, `exec` is on
 * unless a file says otherwise: its tasks have no rights of the agent.
 */
import Type from 'typebox'
import { capsDefault, type DockerSettings } from '../client-agent/drivers/docker/settings.ts'
import { driverNames, type DriverName } from '../client-agent/drivers/names.ts'
import type { Complain } from './config-check.ts'
import { duration, emptyBlock, flag, path } from './config-values.ts'

function driver(isOn: boolean, about: string) {
  const config = Type.Object({ enabled: flag({ default: isOn, about }) }, emptyBlock)
  return Type.Object({ config }, emptyBlock)
}

const drivers = '[drivers](client-agents.md#work) of a client agent, as blocks with a name'
const endpointPrefix = 'unix://'

const dockerConfig = Type.Object(
  {
    enabled: flag({ default: false, about: '[containers](client-agents.md#docker)' }),
    endpoint: path('a socket as "unix:///var/run/docker.sock"', {
      default: 'unix:///var/run/docker.sock',
      about: 'where the daemon listens',
    }),
    allow_privileged: flag({
      default: false,
      about: 'tasks may have `privileged`, and so all rights on the machine',
    }),
    allow_caps: Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: 64,
      description: 'a list of capabilities such as "net_admin", or "all"',
      default: [...capsDefault],
      about: 'capabilities that tasks may have',
      shown: "Docker's own without `net_raw`",
    }),
    gc: Type.Object(
      {
        image: flag({
          default: true,
          about: 'images that no task uses any more are removed',
        }),
        image_delay: duration(1_000, 7 * 86_400_000, '1s to 168h', {
          default: '3m',
          about: 'how long after the end of the last task that used it',
        }),
      },
      emptyBlock,
    ),
    volumes: Type.Object(
      {
        enabled: flag({
          default: false,
          about: 'tasks may mount any folder of the machine',
        }),
      },
      emptyBlock,
    ),
  },
  emptyBlock,
)

export const pluginSchema = Type.Object(
  {
    docker: Type.Object({ config: dockerConfig }, emptyBlock),
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

export function completeDocker({ docker }: PluginFile, complain: Complain): DockerSettings {
  const {
    endpoint,
    allow_privileged: allowPrivileged,
    allow_caps: caps,
    volumes,
    gc,
  } = docker.config
  const socketPath = endpoint.slice(endpointPrefix.length)
  if (!endpoint.startsWith(endpointPrefix) || !socketPath.startsWith('/')) {
    complain('plugin.docker.config.endpoint', 'must be as "unix:///var/run/docker.sock"')
  }
  return {
    socketPath,
    allowPrivileged,
    allowVolumes: volumes.enabled,
    allowCaps: caps.map((name) => name.toLowerCase().replace(/^cap_/, '')),
    imageDelayMs: gc.image ? gc.image_delay : null,
  }
}
