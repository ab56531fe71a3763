/** The four types of jobs. Evaluations know them first: jobs, allocations and the scheduler go by the same words. */
import { Type, type Static } from 'typebox'

export const jobTypes = ['service', 'batch', 'system', 'sysbatch'] as const
export const JobType = Type.Enum([...jobTypes])
export type JobType = Static<typeof JobType>

export function isJobType(word: string): word is JobType {
  return jobTypes.some((type) => type === word)
}

/** Its tasks come to their end, and are not begun again. */
export function isBatchType(type: string): boolean {
  return type === 'batch' || type === 'sysbatch'
}

/** It runs on every node that it fits. */
export function isEveryNodeType(type: string): boolean {
  return type === 'system' || type === 'sysbatch'
}
