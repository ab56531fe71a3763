/** A view of the state is closed behind whoever reads it, however the reading ends. */
import t from 'tap'
import { onView, type OpenView } from '../../src/domains/host.ts'

function counted() {
  let open = 0
  const view = () => {
    open += 1
    return { appliedIndex: 7, close: () => void (open -= 1) }
  }
  return { view: view as unknown as OpenView, open: () => open }
}

void t.test('what is read at once is returned as it is, and the view is closed by then', (t) => {
  const { view, open } = counted()
  const read = onView(view, ({ appliedIndex }) => {
    t.equal(open(), 1)
    return appliedIndex
  })
  t.equal(read, 7)
  t.equal(open(), 0)
  const fails = (): number => {
    throw new Error('it cannot be read')
  }
  t.throws(() => onView(view, fails), { message: 'it cannot be read' })
  t.equal(open(), 0)
  t.end()
})

void t.test('a view is open until what is read later is there, or fails', async (t) => {
  const { view, open } = counted()
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const read = onView(view, () => first.promise)
  const failed = onView(view, () => second.promise)
  t.equal(open(), 2)
  first.resolve('a row')
  t.equal(await read, 'a row')
  t.equal(open(), 1)
  second.reject(new Error('it cannot be read'))
  await t.rejects(failed, { message: 'it cannot be read' })
  t.equal(open(), 0)
})
