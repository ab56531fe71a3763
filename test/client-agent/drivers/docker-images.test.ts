/** Images that no task uses any more. */
import t from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { begun, never, nothing, setting, shellTask } from './docker-setting.ts'

const image = 'web:2'
const forever = 'while :; do sleep 0.05; done'
const keepAll = (): boolean => true
const shell = { words: ['/bin/sh'] }

t.test(
  'an image goes once no task has had it for as long as is set, and is pulled again',
  async (t) => {
    const { engine, driver, lines } = await setting(t, { imageDelayMs: 50 })
    engine.registry.set(image, shell)
    const removals = () => engine.heard.filter(({ method }) => method === 'DELETE')
    const one = await begun(t, driver, await shellTask(t, forever, { image }))
    const other = await begun(t, driver, await shellTask(t, 'exit 0', { image }, { task: 'other' }))
    await other.ended
    await driver.sweep(keepAll)
    t.ok(engine.images.has(image), 'one task has it still')
    one.kill()
    await one.ended
    await driver.sweep(keepAll)
    t.ok(engine.images.has(image), 'it is not long enough yet')
    await eventuallyTrue('it is removed', async () => {
      await driver.sweep(keepAll)
      return !engine.images.has(image)
    })
    t.match(lines.join('\n'), /an image that no task uses was removed \{"image":"web:2"\}/)
    const asked = removals().length
    await driver.sweep(keepAll)
    t.equal(removals().length, asked, 'it is forgotten')
    const again = await begun(t, driver, await shellTask(t, 'exit 4', { image }))
    t.match(await again.ended, { code: 4 })
    t.ok(engine.images.has('busybox:1'), 'what no task used stays')
  },
)

t.test('a container of somebody else keeps an image, and it is tried again', async (t) => {
  const { engine, driver } = await setting(t, { imageDelayMs: 0 })
  engine.registry.set(image, shell)
  const task = await begun(t, driver, await shellTask(t, 'exit 0', { image }))
  await task.ended
  const strangers = await setting(t)
  strangers.engine.images.set(image, shell)
  await begun(t, strangers.driver, await shellTask(t, forever, { image }))
  const { container } = strangers.engine
  const { id } = container
  engine.containers.set(id, container)
  await driver.sweep(keepAll)
  t.ok(engine.images.has(image))
  engine.containers.delete(id)
  await driver.sweep(keepAll)
  t.notOk(engine.images.has(image))
})

t.test('a task that was found again has its image; images stay where that is set', async (t) => {
  const { engine, driver, driverAgain } = await setting(t, { imageDelayMs: 0 })
  engine.registry.set(image, shell)
  const task = await shellTask(t, forever, { image })
  const first = await driver.start(task, never, nothing)
  first.release()
  const later = driverAgain()
  const found = later.recover(task, first.handle)
  found.kill()
  await found.ended
  await later.sweep(keepAll)
  t.notOk(engine.images.has(image))

  const keeping = await setting(t, { imageDelayMs: null })
  keeping.engine.registry.set(image, shell)
  const ended = await begun(t, keeping.driver, await shellTask(t, 'exit 0', { image }))
  await ended.ended
  await keeping.driver.sweep(keepAll)
  t.ok(keeping.engine.images.has(image))
})
