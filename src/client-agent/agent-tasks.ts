/** What this agent does with its tasks when it is asked. Who may ask is the methods' to say. */
import type { AgentTasks } from '../domains/tasks/services.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { listFiles, readFileOf, statFile } from './runner/allocation-files.ts'
import type { AllocationRunner } from './runner/allocation-runner.ts'
import { Commands } from './runner/commands.ts'
import { readLogs } from './runner/log-reader.ts'
import type { Runner } from './runner/runner.ts'
import { hostUsage } from './usage/host-usage.ts'
import type { TaskUsages } from './usage/task-usage.ts'

export type AgentTasksOptions = {
  readonly runner: Pick<Runner, 'find'>
  readonly usage: TaskUsages
  /** Where allocations have their folders. */
  readonly folder: string
  readonly nodeName: string
  /** Of one processor. */
  readonly mhz: number
  readonly clock: Clock
}

export function agentTasksOf(options: AgentTasksOptions): AgentTasks {
  const { runner, usage, clock } = options
  const commands = new Commands(clock)
  const found = (allocation: string): AllocationRunner => {
    const here = runner.find(allocation)
    if (here !== null) return here
    throw new MusterError('not_found', 'this agent has nothing of the allocation any more')
  }
  return {
    namespaceOf: (allocation) => runner.find(allocation)?.assigned.namespace ?? null,
    logs: (of, signal) => readLogs(found(of.allocation).folder.logs, of, clock, signal),
    list: ({ allocation, path }) => listFiles(found(allocation).folder.path, path),
    stat: ({ allocation, path }) => statFile(found(allocation).folder.path, path),
    read: (of, signal) => readFileOf(found(of.allocation).folder.path, of, clock, signal),
    restart: ({ allocation, task }, all) => found(allocation).restart(task, all),
    signal: ({ allocation, task }, signal) => found(allocation).signal(task, signal),
    runsAsAgent: ({ allocation, task }) => found(allocation).runsAsAgent(task),
    exec: ({ allocation, task, command: words, tty }, signal) => {
      const here = found(allocation)
      return commands.run(allocation, () => here.exec(task, { words, tty }), signal)
    },
    input: (input) => commands.input(input),
    usage: async ({ allocation, task }) => {
      const tasks = found(allocation).running(task)
      const usages = await usage.of(tasks.map(([, started]) => started))
      return tasks.flatMap(([name], at) => {
        const ofTask = usages[at]
        return ofTask === undefined ? [] : [[name, ofTask] as const]
      })
    },
    hostUsage: () => hostUsage(options.folder, options.mhz, clock),
    nodeName: options.nodeName,
  }
}
