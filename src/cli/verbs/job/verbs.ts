/** The commands about jobs. */
import type { Verbs } from '../../verb.ts'

export const jobVerbs: Verbs = {
  'job dispatch': {
    summary: 'Starts a job of a parameterized one',
    load: async () => (await import('./dispatch.ts')).jobDispatch,
  },
  'job eval': {
    summary: 'Has the scheduler look at a job again',
    load: async () => (await import('./eval.ts')).jobEval,
  },
  'job history': {
    summary: 'Lists the versions of a job',
    load: async () => (await import('./history.ts')).jobHistory,
  },
  'job init': {
    summary: 'Writes an example of a job file',
    load: async () => (await import('./init.ts')).jobInit,
  },
  'job inspect': {
    summary: 'Prints a job as JSON',
    load: async () => (await import('./inspect.ts')).jobInspect,
  },
  'job periodic force': {
    summary: 'Starts a periodic job now',
    load: async () => (await import('./periodic-force.ts')).jobPeriodicForce,
  },
  'job plan': {
    summary: 'Shows what job run would change',
    load: async () => (await import('./plan.ts')).jobPlan,
  },
  'job run': {
    summary: 'Registers a job, and follows what becomes of it',
    load: async () => (await import('./run.ts')).jobRun,
  },
  'job revert': {
    summary: 'Makes a job what an earlier version was',
    load: async () => (await import('./revert.ts')).jobRevert,
  },
  'job scale': {
    summary: 'Changes the count of a group',
    load: async () => (await import('./scale.ts')).jobScale,
  },
  'job scaling-events': {
    summary: 'Lists how a job was scaled',
    load: async () => (await import('./scaling-events.ts')).jobScalingEvents,
  },
  'job status': {
    summary: 'Lists jobs, or shows one',
    load: async () => (await import('./status.ts')).jobStatus,
  },
  'job stop': {
    summary: 'Stops a job',
    load: async () => (await import('./stop.ts')).jobStop,
  },
  'job validate': {
    summary: 'Checks a job file',
    load: async () => (await import('./validate.ts')).jobValidate,
  },
}
