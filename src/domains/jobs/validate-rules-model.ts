/** What is refused in the rules of updates, moves, restarts and schedules. */
import { parseCron } from '../../lib/cron.ts'
import { formatDurationNs } from '../../lib/duration.ts'
import type { JobSpec, TaskGroup } from './model.ts'
import type { Problems } from './problem-model.ts'
import { scalingType } from './scaling-model.ts'
import {
  reschedulesMax,
  type Migrate,
  type Parameterized,
  type Periodic,
  type Reschedule,
  type Restart,
  type Update,
} from './rules-model.ts'

const second = 1e9
const restartIntervalMin = 5 * second
const rescheduleDelayMin = 5 * second
const rescheduleIntervalMin = 15 * second
const delayFunctions = ['constant', 'exponential', 'fibonacci']
const payloads = ['optional', 'required', 'forbidden']

export function shownDuration(nanoseconds: number): string {
  return formatDurationNs(BigInt(nanoseconds))
}

export function checkOneOf(
  word: string,
  words: readonly string[],
  path: string,
  problems: Problems,
): void {
  if (!words.includes(word)) problems.add(path, `must be one of ${words.join(', ')}`)
}

export function checkNotNegative(value: number | null, path: string, problems: Problems): void {
  if (value !== null && value < 0) problems.add(path, 'must not be negative')
}

export function checkUpdate(
  update: Update,
  path: string,
  { Type }: Pick<JobSpec, 'Type'>,
  problems: Problems,
): void {
  checkOneOf(
    update.HealthCheck,
    ['checks', 'task_states', 'manual'],
    `${path}.HealthCheck`,
    problems,
  )
  checkNotNegative(update.MaxParallel, `${path}.MaxParallel`, problems)
  checkNotNegative(update.Canary, `${path}.Canary`, problems)
  if (Type === 'system' && update.Canary > 100) {
    problems.add(
      `${path}.Canary`,
      'must be at most 100: of a system job it is a percentage of nodes',
    )
  }
  checkNotNegative(update.MinHealthyTime, `${path}.MinHealthyTime`, problems)
  checkNotNegative(update.ProgressDeadline, `${path}.ProgressDeadline`, problems)
  if (update.Canary === 0 && update.AutoPromote) {
    problems.add(`${path}.AutoPromote`, 'needs a Canary above 0')
  }
  if (update.HealthyDeadline <= 0) problems.add(`${path}.HealthyDeadline`, 'must be above 0')
  if (update.Stagger <= 0) problems.add(`${path}.Stagger`, 'must be above 0')
  if (update.MinHealthyTime >= update.HealthyDeadline) {
    problems.add(
      `${path}.MinHealthyTime`,
      `must be less than HealthyDeadline, ${shownDuration(update.HealthyDeadline)}`,
    )
  }
  if (update.ProgressDeadline > 0 && update.HealthyDeadline >= update.ProgressDeadline) {
    problems.add(
      `${path}.HealthyDeadline`,
      `must be less than ProgressDeadline, ${shownDuration(update.ProgressDeadline)}`,
    )
  }
}

export function checkMigrate(migrate: Migrate, path: string, problems: Problems): void {
  checkNotNegative(migrate.MaxParallel, `${path}.MaxParallel`, problems)
  checkOneOf(migrate.HealthCheck, ['checks', 'task_states'], `${path}.HealthCheck`, problems)
  checkNotNegative(migrate.MinHealthyTime, `${path}.MinHealthyTime`, problems)
  checkNotNegative(migrate.HealthyDeadline, `${path}.HealthyDeadline`, problems)
  if (migrate.MinHealthyTime > migrate.HealthyDeadline) {
    problems.add(
      `${path}.MinHealthyTime`,
      `must be less than HealthyDeadline, ${shownDuration(migrate.HealthyDeadline)}`,
    )
  }
}

export function checkRestart(restart: Restart, path: string, problems: Problems): void {
  const { Attempts, Interval, Delay, Mode } = restart
  checkOneOf(Mode, ['fail', 'delay'], `${path}.Mode`, problems)
  checkNotNegative(Attempts, `${path}.Attempts`, problems)
  checkNotNegative(Delay, `${path}.Delay`, problems)
  if (Attempts === 0 && Mode === 'delay') {
    problems.add(`${path}.Attempts`, 'is 0, so that Mode must be fail')
  }
  if (Interval < restartIntervalMin) {
    problems.add(`${path}.Interval`, `must be at least ${shownDuration(restartIntervalMin)}`)
  }
  if (Attempts * Delay > Interval) {
    problems.add(
      `${path}.Interval`,
      `is too short for ${Attempts} attempts with a Delay of ${shownDuration(Delay)}`,
    )
  }
}

export function checkReschedule(rules: Reschedule, path: string, problems: Problems): void {
  const { Attempts, Interval, Delay, DelayFunction, MaxDelay, Unlimited } = rules
  checkNotNegative(Attempts, `${path}.Attempts`, problems)
  if (Attempts <= 0 && !Unlimited) return
  if (Attempts > 0 && Unlimited) {
    problems.add(`${path}.Attempts`, 'must be 0 where Unlimited is true')
  } else if (!Unlimited && Attempts > reschedulesMax) {
    const text = `must be at most ${reschedulesMax}: an allocation knows of no more that came before it. Set Unlimited for more`
    problems.add(`${path}.Attempts`, text)
  }
  const before = problems.count
  checkOneOf(DelayFunction, delayFunctions, `${path}.DelayFunction`, problems)
  if (Delay < rescheduleDelayMin) {
    problems.add(`${path}.Delay`, `must be at least ${shownDuration(rescheduleDelayMin)}`)
  }
  if (DelayFunction !== 'constant' && MaxDelay < Math.max(Delay, rescheduleDelayMin)) {
    problems.add(`${path}.MaxDelay`, 'must be at least Delay')
  }
  if (Unlimited) return
  if (Interval < rescheduleIntervalMin) {
    problems.add(`${path}.Interval`, `must be at least ${shownDuration(rescheduleIntervalMin)}`)
  } else if (problems.count === before) {
    const needed = delaysOf(rules)
    if (needed > Interval) {
      problems.add(
        `${path}.Interval`,
        `is too short for ${Attempts} attempts: their delays come to ${Math.ceil(needed / second)}s`,
      )
    }
  }
}

/** Steps until every growing delay has reached its greatest, or 292 years. */
const growingStepsMax = 128

/** Of all attempts together, in nanoseconds. */
function delaysOf({ Attempts, Delay, DelayFunction, MaxDelay }: Reschedule): number {
  if (DelayFunction === 'constant') return Attempts * Delay
  let total = 0
  let before = 0
  let next = Delay
  for (let attempt = 0; attempt < Attempts; attempt += 1) {
    if (attempt === growingStepsMax) return total + (Attempts - attempt) * MaxDelay
    total += Math.min(next, MaxDelay)
    const grown = DelayFunction === 'exponential' ? next * 2 : next + before
    before = next
    next = grown
  }
  return total
}

/** `knowsTimeZone`: what time zones there are is a matter of the machine. */
export function checkPeriodic(
  periodic: Periodic,
  problems: Problems,
  knowsTimeZone: (name: string) => boolean,
): void {
  const { Enabled, Spec, Specs, SpecType, TimeZone } = periodic
  if (!Enabled) return
  if (SpecType !== 'cron') {
    problems.add('Periodic.SpecType', 'must be cron')
  } else if (Spec === '' && Specs.length === 0) {
    problems.add('Periodic.Spec', 'is missing: write a schedule, as 0 3 * * *')
  } else if (Spec !== '' && Specs.length > 0) {
    problems.add('Periodic.Specs', 'does not go together with Spec: give one of them')
  }
  for (const [path, spec] of pathsOfSchedules(periodic)) {
    const cron = parseCron(spec)
    if (typeof cron === 'string') problems.add(path, cron)
  }
  if (!knowsTimeZone(TimeZone)) {
    problems.add('Periodic.TimeZone', 'is no known time zone: write one as Europe/Berlin')
  }
}

function pathsOfSchedules({ Spec, Specs }: Periodic): readonly (readonly [string, string])[] {
  const one = Spec === '' ? [] : [['Periodic.Spec', Spec] as const]
  return [...one, ...Specs.map((spec, at) => [`Periodic.Specs[${at}]`, spec] as const)]
}

export function checkParameterized(
  { Payload, MetaRequired, MetaOptional }: Parameterized,
  problems: Problems,
): void {
  checkOneOf(Payload, payloads, 'ParameterizedJob.Payload', problems)
  const required = new Set(MetaRequired)
  const both = MetaOptional.filter((key) => required.has(key))
  if (both.length > 0) {
    problems.add(
      'ParameterizedJob.MetaOptional',
      `has ${JSON.stringify(both[0])}, which is required as well`,
    )
  }
}

export function checkScaling(
  { Count, Scaling }: TaskGroup,
  path: string,
  job: JobSpec,
  problems: Problems,
): void {
  if (Scaling === undefined) return
  const at = `${path}.Scaling`
  if (job.Type === 'system') {
    problems.add(at, 'has no meaning in a job of the type system: leave it out')
    return
  }
  const { Type, Min, Max } = Scaling
  if (Type !== scalingType) problems.add(`${at}.Type`, `must be ${scalingType}`)
  if (Min < 0) problems.add(`${at}.Min`, 'must be at least 0')
  if (Max < 0) problems.add(`${at}.Max`, 'is missing: give the greatest count, at least 0')
  else if (Max < Min) problems.add(`${at}.Max`, `must be at least Min, which is ${Min}`)
  else if (Count < Min || Count > Max) {
    problems.add(`${path}.Count`, `must be from ${Min} to ${Max}, as Scaling says, not ${Count}`)
  }
}
