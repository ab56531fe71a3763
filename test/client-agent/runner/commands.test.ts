/** Commands beside tasks: who may tell them anything, how many there are at once, and those that read nothing. */
import t from 'tap'
import type { ExecOutput, RunningCommand } from '../../../src/client-agent/drivers/exec-process.ts'
import { Commands, commandsMax } from '../../../src/client-agent/runner/commands.ts'
import type { CommandOutput } from '../../../src/domains/tasks/services.ts'
import { delay } from '../../../src/lib/async.ts'
import { manualClock } from '../../support/manual-clock.ts'

const { signal } = new AbortController()
const [own, other] = ['allocation-1', 'allocation-2']
const data = Buffer.from('rm -rf /\n')

/** Runs until it is left; `reads`: what it is told. */
function command(clock = manualClock(), reads = true) {
  const told: string[] = []
  const left = Promise.withResolvers<IteratorResult<ExecOutput>>()
  const output: AsyncIterableIterator<ExecOutput> = {
    [Symbol.asyncIterator]: () => output,
    next: () => left.promise,
    return() {
      left.resolve({ done: true, value: undefined })
      return left.promise
    },
  }
  const running: RunningCommand = {
    output,
    ended: left.promise.then(() => {}),
    write(bytes) {
      if (reads) told.push(Buffer.from(bytes).toString())
      return reads
    },
    room: (ms) => delay(clock, ms),
    endInput: () => told.push('its end'),
    resize: ({ rows, columns }) => told.push(`${rows} x ${columns}`),
    kill() {},
  }
  return { running, told, start: () => Promise.resolve(running) }
}

async function sessionOf(outputs: AsyncIterable<CommandOutput>): Promise<string> {
  const { value } = await outputs[Symbol.asyncIterator]().next()
  if (value?.type !== 'session') throw new Error('its session comes first')
  return value.session
}

async function leave(outputs: AsyncIterable<CommandOutput>): Promise<void> {
  await outputs[Symbol.asyncIterator]().return?.()
}

t.test('a command is told only what is for its allocation, while it runs', async (t) => {
  const commands = new Commands(manualClock())
  const { start, told } = command()
  const outputs = await commands.run(own, start, signal)
  const session = await sessionOf(outputs)
  const whole = { session, data, ends: true, size: { rows: 2, columns: 3 } }
  const unknown = { code: 'not_found', message: 'the command has ended' }
  await t.rejects(commands.input({ ...whole, allocation: other }), unknown)
  await t.rejects(commands.input({ ...whole, allocation: own, session: 'another' }), unknown)
  t.same(told, [])
  t.equal(await commands.input({ ...whole, allocation: own }), true)
  t.same(told, [data.toString(), 'its end', '2 x 3'])
  await leave(outputs)
  await t.rejects(commands.input({ ...whole, allocation: own }), unknown)
  t.equal(told.length, 3)
})

t.test('there are so many at a time, and each that ends makes room', async (t) => {
  const commands = new Commands(manualClock())
  const run = (start = command().start) => commands.run(own, start, signal)
  const overloaded = { code: 'overloaded', message: `${commandsMax} commands run at this agent` }
  // Each `run` was called before the first of them had started.
  const first = await Promise.all(Array.from({ length: commandsMax - 1 }, () => run()))
  await t.rejects(
    run(() => Promise.reject(new Error('there is no such program'))),
    {
      message: 'there is no such program',
    },
  )
  const starting = Promise.withResolvers<RunningCommand>()
  const last = run(() => starting.promise)
  let starts = 0
  const start = () => {
    starts += 1
    return command().start()
  }
  await t.rejects(run(start), overloaded, 'one that starts counts')
  starting.resolve(command().running)
  await last
  await t.rejects(run(start), overloaded)
  t.equal(starts, 0)
  const [one] = first
  if (one === undefined) throw new Error('it runs')
  await leave(one)
  await leave(one)
  await run()
  await t.rejects(run(start), overloaded, 'one that ended twice made room once')
})

t.test('of many that start together no more than the bound do', async (t) => {
  const commands = new Commands(manualClock())
  const results = await Promise.allSettled(
    Array.from({ length: commandsMax + 8 }, () => commands.run(own, command().start, signal)),
  )
  const refused = results.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 8)
  t.match(refused[0], { reason: { code: 'overloaded' } })
})

t.test('one that reads nothing is waited for a while, and its caller asks again', async (t) => {
  const clock = manualClock()
  const commands = new Commands(clock)
  const { start, told } = command(clock, false)
  const session = await sessionOf(await commands.run(own, start, signal))
  let answer: boolean | null = null
  const asked = commands
    .input({ allocation: own, session, data, ends: true })
    .then((isTaken) => (answer = isTaken))
  clock.advance(1_999)
  await new Promise(setImmediate)
  t.equal(answer, null)
  clock.advance(1)
  t.equal(await asked, false)
  t.same(told, [], 'its end comes after what was not taken')
  t.equal(clock.timerCount, 0)
})

t.test('the caller that goes ends its command', async (t) => {
  const commands = new Commands(manualClock())
  const { start, running } = command()
  const caller = new AbortController()
  const outputs = await commands.run(own, start, caller.signal)
  caller.abort()
  await running.ended
  const types = []
  for await (const { type } of outputs) types.push(type)
  t.same(types, ['session'])
})
