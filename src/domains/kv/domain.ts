/** Keys and values, locks on them, transactions, and the lock a write depends on. */
import { inDatacenter } from '../../api/datacenter.ts'
import { site } from '../../api/site.ts'
import { requirementsOf } from '../catalog/operation-methods.ts'
import { catalogWords } from '../catalog/operation-routes.ts'
import { defineDomain, defineService } from '../domain.ts'
import { appliedCommands } from '../sessions/services.ts'
import { kvCommands } from './commands.ts'
import { DelayClock } from './delay-clock.ts'
import { startKvDuties } from './duties.ts'
import { hasKeys } from './held-queries.ts'
import { kvReactions } from './lock-commands.ts'
import { kvMethods } from './methods.ts'
import { kvRoutes } from './routes.ts'
import { catalogRules, delayClock } from './services.ts'
import {
  deletionMarks,
  keys,
  kvValues,
  lockDelays,
  lockMarks,
  reaped,
  tombstones,
} from './table.ts'
import { kvTopic } from './topics.ts'
import { transactCommands } from './transaction-commands.ts'
import { transactionMethods } from './transaction-methods.ts'
import { catalogWordsKey, txnRoute } from './txn-routes.ts'

export const kvDomain = defineDomain({
  name: 'kv',
  tables: [keys, kvValues, tombstones, deletionMarks, lockMarks, reaped, lockDelays],
  commands: { ...kvCommands, ...transactCommands },
  // Locks are free in the entry that ends their session.
  reactions: kvReactions,
  tenant: { what: 'keys', livesIn: hasKeys },
  services: [
    defineService(delayClock, {
      create: ({ service, clock }) => new DelayClock(clock, service(appliedCommands)),
      stop: (delays) => delays.stop(),
    }),
    defineService(catalogRules, { create: () => ({ requirementsOf }) }),
    defineService(catalogWordsKey, {
      create: ({ service }) => catalogWords(service(site).datacenter),
    }),
  ],
  methods: [...kvMethods, ...Object.values(transactionMethods)],
  routes: inDatacenter([...kvRoutes, txnRoute]),
  topics: [kvTopic],
  duties: [
    {
      name: 'keys',
      start: ({ log, service, ...context }) =>
        startKvDuties({ ...context, log: log.named('kv'), delays: service(delayClock) }),
    },
  ],
})
