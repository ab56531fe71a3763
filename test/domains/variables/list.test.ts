import t from 'tap'
import { Services } from '../../../src/rpc/services.ts'
import { FilterCompiler } from '../../../src/rpc/filter/filter.ts'
import { listFields, scanOf } from '../../../src/domains/variables/list.ts'
import { onePage, streamed } from '../../../src/rpc/list.ts'
import type { VariableRow } from '../../../src/domains/variables/model.ts'
import type { QueryContext } from '../../../src/rpc/method.ts'

const filters = new FilterCompiler(listFields)

/** A table without end, and how many of its pages were asked for. */
function endless() {
  const counter = { pages: 0 }
  const source = (async function* () {
    for (;;) {
      const start = counter.pages++ * 100
      yield Array.from({ length: 100 }, (_, n): VariableRow => ({
        namespace: 'default',
        path: `v${String(start + n).padStart(9, '0')}`,
        createIndex: 1,
        modifyIndex: start + n + 1,
        createTimeMs: 1,
        modifyTimeMs: 1,
      }))
    }
  })()
  return { counter, sources: [source] }
}

function contextOf(signal: AbortSignal): QueryContext {
  const caller = { token: null, remote: 'test', requestId: '1' }
  return { caller, accessor: null, signal, may: () => true, service: new Services().get }
}

const first = (perPage: number) => ({ perPage, nextToken: null })
const context = contextOf(new AbortController().signal)

void t.test('a page reads what it needs and no more', async (t) => {
  const { counter, sources } = endless()
  const { rows, nextToken } = await onePage(context, first(100), scanOf(sources, null))
  t.equal(rows.length, 100)
  t.equal(nextToken, 'default.v000000100')
  t.equal(counter.pages, 2)
})

void t.test(
  'a filter that matches nothing lets other work go on, and stops with its caller',
  async (t) => {
    for (const expression of ['Path == none', 'Path matches "(a|b|c|d)*x{50}(e|f)+$"']) {
      const { counter, sources } = endless()
      const gone = new AbortController()
      const filter = filters.compile(expression)
      const page = onePage(contextOf(gone.signal), first(10), scanOf(sources, filter))
      // Turns of the event loop come round although the table never ends.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      gone.abort()
      await t.rejects(page, { code: 'cancelled' })
      t.ok(counter.pages > 0)
    }
  },
)

void t.test('an unpaginated list stops reading when nobody goes on', async (t) => {
  const { counter, sources } = endless()
  for await (const page of streamed(context, scanOf(sources, null))) {
    t.equal(page.length, 100)
    break
  }
  t.equal(counter.pages, 1)
})
