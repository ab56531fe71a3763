/** `muster operator scheduler set-config`: what no option names stays as it is. */
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { flagOf, integerOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { changedMeanwhile, namedSettings } from '../../configuration.ts'
import { misused, switchFlag, type FlagTable, type Flags } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { readScheduler, schedulerPath } from './configuration.ts'

const may = (type: string) => ({
  summary: `${type} jobs end work of lower priority; =false: not`,
  value: null,
})

const settingFlags: FlagTable = {
  'scheduler-algorithm': {
    summary: 'binpack: the fullest node that has room; spread: the emptiest',
    value: 'NAME',
  },
  'preempt-system-scheduler': may('System'),
  'preempt-service-scheduler': may('Service'),
  'preempt-batch-scheduler': may('Batch'),
  'preempt-sysbatch-scheduler': may('Sysbatch'),
  'reject-job-registration': {
    summary: 'Only operators register, dispatch, scale jobs; =false: all',
    value: null,
  },
  'pause-eval-broker': { summary: 'Evaluations wait; =false to go on', value: null },
}

export const schedulerSetConfig: Verb = {
  operands: noOperands,
  about: `
Changes what the options name; the rest stays as it is. When another operator changes it at the same
moment, nothing is changed and the exit code is 1.
`,
  flags: { ...settingFlags, ...connectionFlags },
  async run(call) {
    const { PreemptionConfig, ...changes } = changesOf(call.flags)
    const client = await ApiClient.open(call)
    const before = await readScheduler(client)
    const preemption = objectOf(before['PreemptionConfig'])
    const { json } = await client.ask('PUT', schedulerPath, {
      search: { cas: integerOf(before, 'ModifyIndex') },
      json: {
        ...before,
        ...changes,
        PreemptionConfig: { ...preemption, ...objectOf(PreemptionConfig ?? {}) },
      },
    })
    if (!flagOf(objectOf(json), 'Updated')) throw changedMeanwhile()
    call.terminal.out('Scheduler configuration updated\n')
    return exits.ok
  },
}

function changesOf(flags: Flags): JsonObject {
  const preemption: Record<string, Json> = {}
  const types = { System: 'system', Service: 'service', Batch: 'batch', SysBatch: 'sysbatch' }
  for (const [type, word] of Object.entries(types)) {
    const value = switchFlag(flags, `preempt-${word}-scheduler`)
    if (value !== undefined) preemption[`${type}SchedulerEnabled`] = value
  }
  return namedSettings(settingFlags, {
    SchedulerAlgorithm: algorithmOf(flags),
    PreemptionConfig: Object.keys(preemption).length === 0 ? undefined : preemption,
    RejectJobRegistration: switchFlag(flags, 'reject-job-registration'),
    PauseEvalBroker: switchFlag(flags, 'pause-eval-broker'),
  })
}

function algorithmOf(flags: Flags): string | undefined {
  const name = flags.last('scheduler-algorithm')
  if (name === undefined || name === 'binpack' || name === 'spread') return name
  return misused(`-scheduler-algorithm is binpack or spread, not ${JSON.stringify(name)}`)
}
