/** What `muster node` has. */
import type { Verbs } from '../../verb.ts'

export const nodeVerbs: Verbs = {
  'node config': {
    summary: 'Shows or names the servers of a client agent',
    load: async () => (await import('./config.ts')).nodeConfig,
  },
  'node drain': {
    summary: 'Moves all work off a node',
    load: async () => (await import('./drain.ts')).nodeDrain,
  },
  'node eligibility': {
    summary: 'Lets a node take new work or not',
    load: async () => (await import('./eligibility.ts')).nodeEligibility,
  },
  'node meta': {
    summary: 'Shows the metadata of a node',
    load: async () => (await import('./meta.ts')).nodeMeta,
  },
  'node purge': {
    summary: 'Forgets a node',
    load: async () => (await import('./purge.ts')).nodePurge,
  },
  'node status': {
    summary: 'Lists client nodes, or shows one',
    load: async () => (await import('./status.ts')).nodeStatus,
  },
}
