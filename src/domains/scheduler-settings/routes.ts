/** `/v1/operator/scheduler/configuration`. */
import type { Fields } from '../../api/fields.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import { blocking, count, ok, optionally } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { settingsMethods } from './methods.ts'
import {
  algorithms,
  defaultSettings,
  type SchedulerSettings,
  type SchedulerSettingsRow,
} from './model.ts'
import { Configuration, ConfigurationBody, Updated } from './shapes.ts'

const path = '/v1/operator/scheduler/configuration'

export const settingsRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path,
    summary: 'How the scheduler works',
    permission: 'operator:read',
    query: blocking,
    reply: ok(Configuration),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(settingsMethods.read, {})
      return { json: { SchedulerConfig: shown(value), Index: value.modifyIndex } }
    },
  },
  {
    method: 'PUT',
    path,
    summary: 'Set how the scheduler works',
    permission: 'operator:write',
    query: optionally({ cas: count('ModifyIndex that the configuration must have') }),
    bodySchema: ConfigurationBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(Updated),
    example: {
      body: { SchedulerAlgorithm: 'spread', PreemptionConfig: { ServiceSchedulerEnabled: true } },
    },
    handle: async (request) => {
      const settings = settingsIn(request.fields())
      const cas = request.search.unsigned('cas')
      const { changed, index } = await request.call(settingsMethods.set, {
        settings,
        cas: cas === null ? null : Number(cas),
      })
      return { json: { Updated: changed, Index: index }, index }
    },
  },
]

/** What is not sent has its default: the request is the whole configuration. */
function settingsIn(fields: Fields): SchedulerSettings {
  const oversubscribes = fields.boolean('MemoryOversubscriptionEnabled') === true
  const preemption = fields.object('PreemptionConfig')
  const { service, batch, system, sysbatch } = defaultSettings.preemption
  return {
    algorithm: algorithmOf(fields.text('SchedulerAlgorithm') || defaultSettings.algorithm),
    preemption: {
      service: preemption?.boolean('ServiceSchedulerEnabled') ?? service,
      batch: preemption?.boolean('BatchSchedulerEnabled') ?? batch,
      system: preemption?.boolean('SystemSchedulerEnabled') ?? system,
      sysbatch: preemption?.boolean('SysBatchSchedulerEnabled') ?? sysbatch,
    },
    rejectsJobs: fields.boolean('RejectJobRegistration') ?? false,
    pausesEvaluations: fields.boolean('PauseEvalBroker') ?? false,
    ...(oversubscribes && { oversubscribesMemory: true as const }),
  }
}

function algorithmOf(text: string): SchedulerSettings['algorithm'] {
  const found = algorithms.find((name) => name === text)
  if (found !== undefined) return found
  const shownText = JSON.stringify(text.slice(0, 100))
  throw new MusterError(
    'invalid_argument',
    `SchedulerAlgorithm is ${algorithms.join(' or ')}, not ${shownText}`,
  )
}

function shown({ preemption, ...row }: SchedulerSettingsRow) {
  return {
    SchedulerAlgorithm: row.algorithm,
    PreemptionConfig: {
      SystemSchedulerEnabled: preemption.system,
      SysBatchSchedulerEnabled: preemption.sysbatch,
      BatchSchedulerEnabled: preemption.batch,
      ServiceSchedulerEnabled: preemption.service,
    },
    RejectJobRegistration: row.rejectsJobs,
    PauseEvalBroker: row.pausesEvaluations,
    MemoryOversubscriptionEnabled: row.oversubscribesMemory === true,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}
