/** Questions to a daemon have their time by the agent's clock, and leave no timer when they are answered. */
import { createServer } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Engine } from '../../../src/client-agent/drivers/docker/engine.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'

/** A daemon that says which version it is, opens connections for `open`, and answers nothing else. */
async function setting(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-engine-'))
  const socketPath = join(folder, 'docker.sock')
  const unanswered: string[] = []
  const heard = (url = ''): void => void unanswered.push(url.replace(/^\/v[\d.]+/, ''))
  const server = createServer((request, response) => {
    if (request.url === '/version') response.end('{"ApiVersion":"1.41","Version":"20.10.0"}')
    else heard(request.url)
  })
  server.on('upgrade', ({ url = '' }, socket) => {
    const head = 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'
    if (url.endsWith('/open')) socket.write(head)
    else heard(url)
    t.teardown(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  const clock = manualClock()
  return { clock, engine: new Engine(socketPath, clock), unanswered }
}

t.test('what is answered leaves no timer', async (t) => {
  const { clock, engine } = await setting(t)
  t.match(await engine.version(), { Version: '20.10.0' })
  t.equal(clock.timerCount, 0)
  const connection = await engine.converse({ method: 'POST', path: '/open' })
  t.equal(clock.timerCount, 0)
  connection.destroy()
})

t.test('what is not answered is late by the clock of the agent', async (t) => {
  const { clock, engine, unanswered } = await setting(t)
  const asked = engine.ask({ method: 'GET', path: '/info' })
  const opened = engine.converse({ method: 'POST', path: '/silent' })
  const failed = Promise.all([
    t.rejects(asked, { code: 'unavailable', message: /did not answer at .* within 10s/ }),
    t.rejects(opened, { code: 'unavailable', message: /did not answer at .* within 10s/ }),
  ])
  await eventuallyTrue('both are asked', () => unanswered.length === 2)
  clock.advance(10_000)
  await failed
  t.equal(clock.timerCount, 0)
})
