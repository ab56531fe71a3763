/** The state of a task that is over, as agents report it. */
import type { TaskState } from '../../src/domains/allocations/model.ts'

/** `types`: of its events, the oldest first. */
export function deadTask(types: readonly string[], about: Partial<TaskState> = {}): TaskState {
  return {
    task: 'main',
    state: 'dead',
    failed: false,
    restarts: 0,
    startedMs: 1,
    finishedMs: 2,
    lastRestartMs: null,
    events: types.map((type) => ({
      type,
      timeNs: '1',
      message: '',
      displayMessage: '',
      details: [],
    })),
    ...about,
  }
}
