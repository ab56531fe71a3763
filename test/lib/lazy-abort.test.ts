import t from 'tap'
import { LazyAbort } from '../../src/lib/lazy-abort.ts'

function counter() {
  const told = { count: 0, handleEvent: () => void (told.count += 1) }
  return told
}

t.test('each listener is told once, whichever way it listens', async (t) => {
  const abort = new LazyAbort()
  const [first, second, gone] = [counter(), counter(), counter()]
  abort.addEventListener('abort', first)
  abort.addEventListener('abort', second)
  abort.addEventListener('abort', gone)
  abort.removeEventListener('abort', gone)
  const { signal } = abort
  t.equal(abort.aborted, false)
  abort.abort()
  abort.abort()
  t.same([first.count, second.count, gone.count], [1, 1, 0])
  t.equal(abort.aborted, true)
  t.equal(signal.aborted, true)
})

t.test('a signal that is asked for afterwards has fired', async (t) => {
  const abort = new LazyAbort()
  abort.abort()
  t.equal(abort.signal.aborted, true)
  t.equal(abort.signal, abort.signal)
})

t.test('a listener that left makes room for the next one', async (t) => {
  const abort = new LazyAbort()
  const [first, second] = [counter(), counter()]
  abort.addEventListener('abort', first)
  abort.removeEventListener('abort', first)
  abort.addEventListener('abort', second)
  abort.abort()
  t.same([first.count, second.count], [0, 1])
})
