/** The commands on deployments. */
import type { Verbs } from '../../verb.ts'

export const deploymentVerbs: Verbs = {
  'deployment fail': {
    summary: 'Fails a deployment',
    load: async () => (await import('./change.ts')).deploymentFail,
  },
  'deployment list': {
    summary: 'Lists deployments',
    load: async () => (await import('./list.ts')).deploymentList,
  },
  'deployment pause': {
    summary: 'Pauses a deployment',
    load: async () => (await import('./change.ts')).deploymentPause,
  },
  'deployment promote': {
    summary: 'Promotes canaries that are healthy',
    load: async () => (await import('./change.ts')).deploymentPromote,
  },
  'deployment resume': {
    summary: 'Goes on with a deployment that was paused',
    load: async () => (await import('./change.ts')).deploymentResume,
  },
  'deployment status': {
    summary: 'Shows a deployment and its allocations',
    load: async () => (await import('./status.ts')).deploymentStatus,
  },
}
