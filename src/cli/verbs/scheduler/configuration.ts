/** The scheduler's configuration: where the API has it, and as people read it. */
import type { JsonObject } from '../../../lib/exact-json.ts'
import { flagOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import { pairs } from '../../print/table.ts'

export const schedulerPath = '/v1/operator/scheduler/configuration'

export async function readScheduler(client: ApiClient): Promise<JsonObject> {
  return objectOf(objectOf(await client.get(schedulerPath))['SchedulerConfig'])
}

export function schedulerLines(config: JsonObject): string {
  const preemption = objectOf(config['PreemptionConfig'])
  const flag = (from: JsonObject, name: string) => String(flagOf(from, name))
  return pairs([
    ['Scheduler Algorithm', textOf(config, 'SchedulerAlgorithm')],
    ['Preemption System Scheduler', flag(preemption, 'SystemSchedulerEnabled')],
    ['Preemption Service Scheduler', flag(preemption, 'ServiceSchedulerEnabled')],
    ['Preemption Batch Scheduler', flag(preemption, 'BatchSchedulerEnabled')],
    ['Preemption SysBatch Scheduler', flag(preemption, 'SysBatchSchedulerEnabled')],
    ['Reject Job Registration', flag(config, 'RejectJobRegistration')],
    ['Pause Eval Broker', flag(config, 'PauseEvalBroker')],
  ])
}
