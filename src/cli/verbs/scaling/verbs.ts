/** The commands on scaling policies. */
import type { Verbs } from '../../verb.ts'

export const scalingVerbs: Verbs = {
  'scaling policy info': {
    summary: 'Shows a scaling policy',
    load: async () => (await import('./policy.ts')).scalingPolicyInfo,
  },
  'scaling policy list': {
    summary: 'Lists scaling policies',
    load: async () => (await import('./policy.ts')).scalingPolicyList,
  },
}
