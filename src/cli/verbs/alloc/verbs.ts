/** The commands about allocations. */
import type { Verbs } from '../../verb.ts'

export const allocVerbs: Verbs = {
  'alloc exec': {
    summary: 'Runs a command beside a task',
    load: async () => (await import('./exec.ts')).allocExec,
  },
  'alloc fs': {
    summary: 'Lists folders of an allocation, and shows files',
    load: async () => (await import('./fs.ts')).allocFs,
  },
  'alloc logs': {
    summary: 'Shows or follows the output of a task',
    load: async () => (await import('./logs.ts')).allocLogs,
  },
  'alloc restart': {
    summary: 'Restarts tasks in their allocation',
    load: async () => (await import('./restart.ts')).allocRestart,
  },
  'alloc signal': {
    summary: 'Sends a signal to tasks',
    load: async () => (await import('./signal.ts')).allocSignal,
  },
  'alloc status': {
    summary: 'Lists allocations, or shows one',
    load: async () => (await import('./status.ts')).allocStatus,
  },
  'alloc stop': {
    summary: 'Stops an allocation; its job places another one',
    load: async () => (await import('./stop.ts')).allocStop,
  },
}
