/** `npm start` where its output goes nowhere: it keeps its servers, and stops them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { HOST, planAgents } from '../../scripts/start/options.ts'
import { isFree, takenPorts } from '../../scripts/start/ports.ts'
import { randomInteger, systemRandom } from '../../src/lib/random.ts'
import { eventually } from '../support/eventually.ts'
import { writtenFolder } from '../support/written-folder.ts'

const script = fileURLToPath(new URL('../../scripts/start.ts', import.meta.url))
/** As in the README's test: above the ports of most tests. */
const basePorts = { min: 20_000, max: 26_000 }

void t.test('an output that takes nothing does not end it', async (t) => {
  const folder = writtenFolder(t)
  const basePort = await eventually('all ports of a server are free', async () => {
    const port = randomInteger(systemRandom, basePorts.min, basePorts.max)
    const plans = planAgents({
      servers: 1,
      clients: 0,
      dataDir: folder,
      basePort: port,
      configFiles: [],
    })
    return (await takenPorts(plans)).length === 0 ? port : undefined
  })
  const full = await open('/dev/full', 'w')
  const args = [script, '--servers', '1', '--base-port', String(basePort), '--data', folder]
  const child = spawn(process.execPath, args, { stdio: ['ignore', full.fd, full.fd] })
  const ended = once(child, 'exit')
  await full.close()
  t.teardown(async () => {
    child.kill('SIGKILL')
    // What a start that died has left running.
    const pid = Number(
      await readFile(join(folder, 's1', 'data', 'muster.pid'), 'utf8').catch(() => '0'),
    )
    if (pid > 0 && !t.passing()) process.kill(pid, 'SIGKILL')
  })
  await eventually(
    'its server leads',
    async () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
      const answer = await fetch(`http://${HOST}:${basePort}/v1/status/leader`).catch(() => null)
      return (await answer?.json()) === `${HOST}:${basePort + 1}` ? true : undefined
    },
    { timeoutMs: 60_000 },
  )
  child.kill('SIGTERM')
  t.same(await ended, [0, null], 'it stops as ever')
  t.ok(await isFree(basePort), 'and so did its server')
})
