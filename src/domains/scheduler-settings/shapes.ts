/** What routes of the settings take and answer. */
import { Type } from 'typebox'
import { count, flag, indexes } from '../../api/shape.ts'
import { algorithms } from './model.ts'

const preemption = {
  SystemSchedulerEnabled: flag('Of system jobs'),
  SysBatchSchedulerEnabled: flag('Of sysbatch jobs'),
  BatchSchedulerEnabled: flag('Of batch jobs'),
  ServiceSchedulerEnabled: flag('Of service jobs'),
}

const settings = {
  SchedulerAlgorithm: Type.Enum([...algorithms], {
    description: 'The fullest node that has room, or the emptiest',
  }),
  RejectJobRegistration: flag('Only operators may register, dispatch and scale jobs'),
  PauseEvalBroker: flag('Evaluations wait'),
  MemoryOversubscriptionEnabled: flag(
    'Tasks may use memory up to `memory_max`, above what is reserved for them',
  ),
}

export const Configuration = Type.Object(
  {
    SchedulerConfig: Type.Object(
      { ...settings, PreemptionConfig: Type.Object(preemption), ...indexes },
      { title: 'SchedulerConfiguration' },
    ),
    Index: count('Of the configuration'),
  },
  { title: 'SchedulerConfigurationReply' },
)

export const ConfigurationBody = Type.Partial(
  Type.Object({ ...settings, PreemptionConfig: Type.Partial(Type.Object(preemption)) }),
)

export const Updated = Type.Object({
  Updated: flag('False: `cas` does not hold'),
  Index: count('Of the entry'),
})
