/** Traces that are shown name source files, where a bundle's launcher hands in how. */
import t from 'tap'
import { prepareStackTraces, stackTraceOf } from '../../src/lib/stack-trace.ts'

t.test('from sources a trace is shown as it is', async (t) => {
  const error = new RangeError('no')
  t.equal(stackTraceOf(error), error.stack)
  t.equal(stackTraceOf('no'), null, 'what is no error has none')
  delete error.stack
  t.equal(stackTraceOf(error), null)
})

t.test('V8 is asked for a first trace once, and nothing comes of it', async (t) => {
  t.doesNotThrow(prepareStackTraces)
})
