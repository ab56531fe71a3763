/** How a job is updated, moved, restarted, placed anew, and started by time or by hand. */
import type { Static } from 'typebox'
import { block, Duration, Flag, list, Whole, Word, Words } from './schema-model.ts'

export const Update = block('JobUpdate', {
  Stagger: Duration,
  MaxParallel: Whole,
  HealthCheck: Word,
  MinHealthyTime: Duration,
  HealthyDeadline: Duration,
  ProgressDeadline: Duration,
  Canary: Whole,
  AutoRevert: Flag,
  AutoPromote: Flag,
})
export type Update = Readonly<Static<typeof Update>>

export const Migrate = block('JobMigrate', {
  MaxParallel: Whole,
  HealthCheck: Word,
  MinHealthyTime: Duration,
  HealthyDeadline: Duration,
})
export type Migrate = Readonly<Static<typeof Migrate>>

export const Restart = block('JobRestart', {
  Attempts: Whole,
  Interval: Duration,
  Delay: Duration,
  Mode: Word,
})
export type Restart = Readonly<Static<typeof Restart>>

/** Of those that an allocation was made instead of it knows so many, by which attempts are counted. */
export const reschedulesMax = 32

export const Reschedule = block('JobReschedule', {
  Attempts: Whole,
  Interval: Duration,
  Delay: Duration,
  DelayFunction: Word,
  MaxDelay: Duration,
  Unlimited: Flag,
})
export type Reschedule = Readonly<Static<typeof Reschedule>>

/** Whether what failed is placed anew at all. */
export function reschedules(policy: Reschedule | null): policy is Reschedule {
  return policy !== null && (policy.Unlimited || policy.Attempts > 0)
}

const schedulesMax = 64

export const Periodic = block('JobPeriodic', {
  Enabled: Flag,
  /** One schedule, or several in `Specs`. */
  Spec: Word,
  Specs: list(Word, schedulesMax),
  SpecType: Word,
  ProhibitOverlap: Flag,
  TimeZone: Word,
})
export type Periodic = Readonly<Static<typeof Periodic>>

export function schedulesOf({ Spec, Specs }: Periodic): readonly string[] {
  return Spec === '' ? Specs : [Spec]
}

export const Parameterized = block('JobParameterized', {
  Payload: Word,
  MetaRequired: Words,
  MetaOptional: Words,
})
export type Parameterized = Readonly<Static<typeof Parameterized>>
