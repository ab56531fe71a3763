/** Commands beside tasks: a stream of what one says, and calls with what it is told. */
import { Type } from 'typebox'
import { defineLocalMethod, defineStreamMethod } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { CommandOutputAnswer } from './answer-model.ts'
import { Allocation, Task, tasksOf } from './methods.ts'
import { toTasks, toTasksOf } from './rights.ts'

const wordsMax = 256
const wordLengthMax = 32_768
const inputBytesMax = 256 * 1_024
const sizeMax = 10_000

const Input = Type.Refine(
  Type.Unsafe<Uint8Array>({}),
  (value) => value instanceof Uint8Array && value.byteLength <= inputBytesMax,
  () => `must be at most ${inputBytesMax} bytes`,
)
const Side = Type.Integer({ minimum: 1, maximum: sizeMax })

const exec = defineStreamMethod({
  kind: 'stream',
  name: 'tasks.exec',
  args: Type.Object({
    allocation: Allocation,
    task: Task,
    command: Type.Array(Type.String({ maxLength: wordLengthMax }), {
      minItems: 1,
      maxItems: wordsMax,
    }),
    tty: Type.Boolean(),
  }),
  answer: CommandOutputAnswer,
  ...toTasks('alloc-exec'),
  open: (context, args) => {
    const { service, signal, accessor, log } = context
    const tasks = tasksOf(service, args)
    const { allocation, task, tty } = args
    if (tasks.runsAsAgent(args)) {
      mustMay(context, toTasksOf(service, allocation, 'alloc-node-exec'))
    }
    log.info('a command is run beside a task', { allocation, task, tty, accessor })
    return tasks.exec(args, signal)
  },
})

const input = defineLocalMethod({
  kind: 'local',
  name: 'tasks.input',
  args: Type.Object({
    allocation: Allocation,
    session: Type.String({ maxLength: 64 }),
    data: Type.Optional(Input),
    ends: Type.Optional(Type.Boolean()),
    size: Type.Optional(Type.Object({ rows: Side, columns: Side })),
  }),
  answer: Type.Boolean(),
  ...toTasks('alloc-exec'),
  run: ({ service }, args) => tasksOf(service, args).input(args),
})

export const execMethods = { exec, input }
