/** Blocks of a job file that say where a job may go, and how it is updated, moved and restarted. */
import type { BlockShape, Members } from './hcl-shape-model.ts'

const constraintForms = [
  'version',
  'semver',
  'regexp',
  'set_contains',
  'set_contains_all',
  'set_contains_any',
]

const placementAttributes = {
  attribute: ['LTarget', 'text'],
  value: ['RTarget', 'text'],
  operator: ['Operand', 'text'],
  version: ['version', 'text'],
  semver: ['semver', 'text'],
  regexp: ['regexp', 'text'],
  set_contains: ['set_contains', 'text'],
  set_contains_all: ['set_contains_all', 'text'],
  set_contains_any: ['set_contains_any', 'text'],
} as const

const constraint: BlockShape = {
  attributes: {
    ...placementAttributes,
    distinct_hosts: ['distinct_hosts', 'flag'],
    distinct_property: ['distinct_property', 'text'],
  },
  finish: operandOf,
}

const affinity: BlockShape = {
  attributes: { ...placementAttributes, weight: ['Weight', 'whole'] },
  finish: operandOf,
}

/** `version = ">= 1"` is short for an operator and its value. */
function operandOf(members: Members): Members {
  const { LTarget, RTarget, Operand, Weight } = members
  const kept = {
    ...(LTarget === undefined ? {} : { LTarget }),
    ...(RTarget === undefined ? {} : { RTarget }),
    ...(Weight === undefined ? {} : { Weight }),
  }
  const hosts = members['distinct_hosts']
  if (hosts !== undefined) {
    return { ...kept, Operand: 'distinct_hosts', RTarget: hosts === true ? 'true' : 'false' }
  }
  if (members['distinct_property'] !== undefined) {
    return { ...kept, Operand: 'distinct_property', LTarget: members['distinct_property'] }
  }
  const form = constraintForms.find((name) => members[name] !== undefined)
  if (form !== undefined) return { ...kept, Operand: form, RTarget: members[form] }
  return { ...kept, Operand: Operand ?? '=' }
}

const spread: BlockShape = {
  attributes: { attribute: ['Attribute', 'text'], weight: ['Weight', 'whole'] },
  blocks: {
    target: {
      member: 'SpreadTarget',
      as: 'many',
      shape: { label: 'Value', attributes: { percent: ['Percent', 'whole'] } },
    },
  },
}

export const placement = {
  constraint: { member: 'Constraints', shape: constraint, as: 'many' },
  affinity: { member: 'Affinities', shape: affinity, as: 'many' },
} as const

export const spreads = { spread: { member: 'Spreads', shape: spread, as: 'many' } } as const

const health = {
  max_parallel: ['MaxParallel', 'whole'],
  health_check: ['HealthCheck', 'text'],
  min_healthy_time: ['MinHealthyTime', 'duration'],
  healthy_deadline: ['HealthyDeadline', 'duration'],
} as const

export const update: BlockShape = {
  attributes: {
    ...health,
    stagger: ['Stagger', 'duration'],
    progress_deadline: ['ProgressDeadline', 'duration'],
    canary: ['Canary', 'whole'],
    auto_revert: ['AutoRevert', 'flag'],
    auto_promote: ['AutoPromote', 'flag'],
  },
}

export const migrate: BlockShape = { attributes: health }

export const restart: BlockShape = {
  title: 'JobRestart',
  attributes: {
    attempts: ['Attempts', 'whole'],
    interval: ['Interval', 'duration'],
    delay: ['Delay', 'duration'],
    mode: ['Mode', 'text'],
  },
  refused: { render_templates: 'RenderTemplates' },
}

export const reschedule: BlockShape = {
  attributes: {
    attempts: ['Attempts', 'whole'],
    interval: ['Interval', 'duration'],
    delay: ['Delay', 'duration'],
    delay_function: ['DelayFunction', 'text'],
    max_delay: ['MaxDelay', 'duration'],
    unlimited: ['Unlimited', 'flag'],
  },
}

export const scaling: BlockShape = {
  attributes: {
    enabled: ['Enabled', 'flag'],
    type: ['Type', 'text'],
    min: ['Min', 'whole'],
    max: ['Max', 'whole'],
  },
  maps: { policy: ['Policy', 'config'] },
}
