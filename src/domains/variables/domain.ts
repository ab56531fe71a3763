/** Encrypted items by check-and-set, and the keyring that seals them. */
import { defineDomain, defineService } from '../domain.ts'
import { onView, openView, secretHasher, textSealer } from '../host.ts'
import { ClusterKeyShare } from './cluster-key-share.ts'
import { variableCommands } from './commands.ts'
import { startDuties } from './duties.ts'
import { keyringCommands } from './keyring-commands.ts'
import { keyringMethods } from './keyring-methods.ts'
import { keyringRoutes } from './keyring-routes.ts'
import { ClusterKeyring } from './keyring.ts'
import { variableMethods } from './methods.ts'
import { clusterKeyMethod } from './peer-methods.ts'
import { variableRoutes } from './routes.ts'
import { clusterHasher } from './secret-hasher.ts'
import { clusterKeyLink, clusterKeyring, clusterKeys, clusterKeyShare } from './services.ts'
import { hasVariables, keyring, sealedItems, variables } from './table.ts'
import { KeyringSealer } from './text-sealer.ts'
import { variableTopic } from './topics.ts'

export const variablesDomain = defineDomain({
  name: 'variables',
  tenant: { what: 'variables', livesIn: hasVariables },
  tables: [variables, sealedItems, keyring],
  commands: { ...variableCommands, ...keyringCommands },
  services: [
    defineService(clusterKeyring, {
      create: ({ service }) => new ClusterKeyring(service(clusterKeys)),
    }),
    defineService(textSealer, {
      create: ({ service }) => new KeyringSealer(service(clusterKeyring)),
    }),
    defineService(secretHasher, {
      create: ({ service }) =>
        clusterHasher(() =>
          onView(service(openView), (reader) => service(clusterKeyring).activeClusterKey(reader)),
        ),
    }),
    defineService(clusterKeyShare, {
      create: ({ service, clock, log }) =>
        new ClusterKeyShare({
          keyring: service(clusterKeyring),
          link: service(clusterKeyLink),
          clock,
          log: log.named('keyring'),
          view: service(openView),
        }),
      start: (share) => share.start(),
      stop: (share) => share.stop(),
    }),
  ],
  methods: [...Object.values(variableMethods), ...Object.values(keyringMethods), clusterKeyMethod],
  routes: [...variableRoutes, ...keyringRoutes],
  topics: [variableTopic],
  duties: [
    {
      name: 'keyring',
      start: ({ service, ...context }) =>
        startDuties({
          ...context,
          keyring: service(clusterKeyring),
          log: context.log.named('keyring'),
          share: service(clusterKeyShare),
        }),
    },
  ],
})
