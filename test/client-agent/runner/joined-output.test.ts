/** Output of commands in few chunks: joined while it comes fast, prompt after a rest, in order and whole. */
import t from 'tap'
import type { ExecOutput } from '../../../src/client-agent/drivers/exec-process.ts'
import { joinedOutput } from '../../../src/client-agent/runner/joined-output.ts'
import { systemClock } from '../../../src/lib/clock.ts'

type Step = ExecOutput | { readonly type: 'rest'; readonly ms: number }

async function* written(steps: readonly Step[]): AsyncGenerator<ExecOutput> {
  for (const step of steps) {
    if (step.type !== 'rest') yield step
    else await new Promise((resolve) => setTimeout(resolve, step.ms))
  }
}

function wrote(text: string, type: 'stdout' | 'stderr' = 'stdout'): ExecOutput {
  return { type, data: Buffer.from(text) }
}

async function chunksOf(steps: readonly Step[]): Promise<string[]> {
  const chunks = []
  for await (const item of joinedOutput(written(steps), systemClock)) {
    const text = item.type === 'exited' ? item.code : Buffer.from(item.data).toString()
    chunks.push(`${item.type} ${text}`)
  }
  return chunks
}

t.test('many small pieces are few chunks, none is lost', async (t) => {
  const lines = Array.from({ length: 10_000 }, (_, n) => `${n}\n`)
  const chunks = await chunksOf([...lines.map((line) => wrote(line)), { type: 'exited', code: 3 }])
  t.ok(chunks.length < 100, `${chunks.length} chunks`)
  t.equal(chunks.at(-1), 'exited 3')
  const text = chunks.slice(0, -1).map((chunk) => chunk.slice('stdout '.length))
  t.equal(text.join(''), lines.join(''))
  t.ok(text.every(({ length }) => length <= 32 * 1_024))
})

t.test('the two outputs stay apart, in their order', async (t) => {
  const steps = [wrote('a'), wrote('b'), wrote('c'), wrote('no', 'stderr'), wrote('d'), wrote('e')]
  t.same(await chunksOf(steps), ['stdout a', 'stdout bc', 'stderr no', 'stdout de'])
})

t.test('the first piece after a rest is not held up', async (t) => {
  const rest = { type: 'rest', ms: 2_000 } as const
  const output = joinedOutput(written([wrote('a'), wrote('b'), rest]), systemClock)
  t.match(await output.next(), { value: { data: Buffer.from('a') } })
  const startMs = Date.now()
  t.match(await output.next(), { value: { data: Buffer.from('b') } })
  t.ok(Date.now() - startMs < 1_000, 'nor the next for long')
})

t.test('what fails is told to who asks next', async (t) => {
  async function* broken(): AsyncGenerator<ExecOutput> {
    yield wrote('a')
    yield wrote('b')
    throw new Error('the daemon is gone')
  }
  const output = joinedOutput(broken(), systemClock)
  await output.next()
  t.match(await output.next(), { value: { data: Buffer.from('b') } })
  await t.rejects(output.next(), { message: 'the daemon is gone' })
})
