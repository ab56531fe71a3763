/** A command over a WebSocket: what it says goes through and is not kept, and what cannot be told to it ends the conversation. */
import t from 'tap'
import { execRoutes } from '../../../src/domains/tasks/exec-routes.ts'
import type { CommandOutput } from '../../../src/domains/tasks/services.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { collectGarbage } from '../../support/heap.ts'

const id = 'd9f8f5f0-5f44-4c1e-8d1e-5d1e2f3a4b5c'

async function* output(count: number): AsyncGenerator<CommandOutput, undefined> {
  yield { type: 'session', session: id }
  for (let n = 0; n < count; n += 1) yield { type: 'stdout', data: Buffer.alloc(32 * 1_024) }
  yield { type: 'exited', code: 0 }
}

/** One that says no more until it is left, as those over a link do. */
function endless() {
  const left = Promise.withResolvers<IteratorResult<CommandOutput>>()
  const first = { done: false, value: { type: 'session', session: id } } as const
  const results: Promise<IteratorResult<CommandOutput>>[] = [Promise.resolve(first)]
  const outputs: AsyncIterableIterator<CommandOutput> = {
    [Symbol.asyncIterator]: () => outputs,
    next: () => results.shift() ?? left.promise,
    return() {
      left.resolve({ done: true, value: undefined })
      return left.promise
    },
  }
  return outputs
}

async function conversation(
  outputs: AsyncIterableIterator<CommandOutput>,
  call = async () => true,
) {
  const [route] = execRoutes
  const words: Record<string, string> = { task: 'web', command: '["/bin/date"]' }
  const request = {
    asksForWebSocket: true,
    parameter: () => id,
    service: () => null,
    query: async () => ({ value: 'node-1' }),
    search: { boolean: () => false, text: (name: string) => words[name] },
    call,
    open: async () => outputs,
  }
  const reply = await route?.handle(request as never)
  if (reply?.converse === undefined) throw new Error('it does not converse')
  return reply.converse
}

const silence: AsyncIterable<string> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
}

t.test('output that was sent is not kept', async (t) => {
  const said = (await conversation(output(2_000)))(silence)
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  let frames = 0
  for await (const frame of said) {
    frames += 1
    if (!frame.includes('exited')) continue
    // The buffers of what was collected are given back a little later.
    await eventuallyTrue('the bytes are given back while the session goes on', () => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - before < 4 * 1_024 * 1_024
    })
  }
  t.equal(frames, 2_003)
})

t.test('what cannot be told to it ends the conversation', async (t) => {
  async function* messages() {
    yield '{"stdin":{"data":"YQ=="}}'
  }
  const call = () => Promise.reject(new MusterError('unavailable', 'the node is gone'))
  const said = (await conversation(endless(), call))(messages())
  await t.rejects(said[Symbol.asyncIterator]().next(), {
    code: 'unavailable',
    message: 'the node is gone',
  })
})
