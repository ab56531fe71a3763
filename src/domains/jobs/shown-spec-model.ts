/** The specification of a registered job as the API shows it, with the job and with each of its allocations. */
import type { JobSpec } from './model.ts'

/** As it was registered, and what Nomad's clients read of Vault, which no job here has. */
export function shownSpec(spec: JobSpec) {
  return {
    ...spec,
    TaskGroups: spec.TaskGroups.map((group) => ({
      ...group,
      Tasks: group.Tasks.map((task) => ({ ...task, Vault: null })),
    })),
    VaultToken: '',
  }
}
