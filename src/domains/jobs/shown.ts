/** Jobs as the API shows them. */
import type { JobSpec } from './model.ts'

/** A complete job that is not registered: the members that the cluster sets are empty. */
export function shownSpecification(job: JobSpec) {
  return {
    ...job,
    ParentID: '',
    Payload: null,
    Stop: false,
    Stable: false,
    Status: '',
    StatusDescription: '',
    SubmitTime: null,
    Version: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
  }
}

/** As Go prints several errors at once, which tools show as it is. */
export function shownErrors(errors: readonly string[]): string {
  if (errors.length === 0) return ''
  const head = errors.length === 1 ? '1 error occurred:' : `${errors.length} errors occurred:`
  return `${head}\n${errors.map((error) => `\t* ${error}\n`).join('')}\n`
}

export function shownWarnings(warnings: readonly string[]): string {
  if (warnings.length === 0) return ''
  const head = warnings.length === 1 ? '1 warning:' : `${warnings.length} warnings:`
  return `${head}\n\n${warnings.map((warning) => `* ${warning}`).join('\n')}`
}
