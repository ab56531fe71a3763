/** Who may run a command beside a task. */
import t from 'tap'
import { execMethods } from '../../../src/domains/tasks/exec-methods.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type { Requirement } from '../../../src/rpc/method.ts'

const command = { allocation: 'a', task: 'main', command: ['sh'], tty: false }

/** At an agent that has the allocation, for a caller who may do what is named. */
function open(runsAsAgent: boolean, ...rights: readonly string[]) {
  const tasks = {
    namespaceOf: () => 'default',
    runsAsAgent: () => runsAsAgent,
    exec: () => Promise.resolve([]),
  }
  const context = {
    service: () => tasks,
    may: (asked: Requirement) => 'access' in asked && rights.includes(asked.access),
    accessor: null,
    log: silentLogger,
    signal: new AbortController().signal,
  }
  // Of what a method is handed, all that this one uses.
  return execMethods.exec.open(context as never, command)
}

t.test('where commands have the rights of the agent, they take a right of their own', async (t) => {
  const denied = { code: 'permission_denied' }
  t.throws(() => open(true, 'alloc-exec'), denied)
  t.ok(await open(true, 'alloc-exec', 'alloc-node-exec'))
  t.ok(await open(false, 'alloc-exec'))
})
