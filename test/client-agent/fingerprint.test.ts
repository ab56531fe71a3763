/** What a client agent tells of its machine, and the secret that it is known by. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Drivers } from '../../src/client-agent/drivers/drivers.ts'
import { fingerprint } from '../../src/client-agent/fingerprint.ts'
import { loadNodeSecret } from '../../src/client-agent/node-secret.ts'
import { NodeSpec } from '../../src/domains/nodes/model.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { secretPattern } from '../../src/domains/nodes/uplink-words.ts'
import { Validator } from '../../src/fsm/validator.ts'

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-node-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

t.test('a machine is told as it is, with what the configuration adds', async (t) => {
  const reserved = { cpuMhz: 5, memoryMb: 6, diskMb: 7, ports: '22' }
  const spec = await fingerprint({
    config: {
      name: 'box',
      datacenter: 'dc1',
      advertiseAddr: '127.0.0.1',
      client: {
        node: {
          nodeClass: 'fast',
          cpuTotalMhz: null,
          meta: [['rack', 'r1']],
          hostVolumes: [{ name: 'data', path: '/srv', readOnly: false }],
          reserved,
        },
      },
    },
    version: '1.2.3',
    api: { secure: true, host: '10.0.0.7', port: 4646 },
    drivers: new Drivers(['raw_exec'], systemClock).shown,
    storage: { totalBytes: 9_000_000, freeBytes: 3_000_000, volume: '/dev/vda', offeredMb: 5 },
  })
  t.ok(new Validator(NodeSpec).accepts(spec), 'servers take it')
  t.match(spec, {
    nodeClass: 'fast',
    meta: [['rack', 'r1']],
    httpAddr: '10.0.0.7:4646',
    tlsEnabled: true,
    drivers: [{ name: 'raw_exec', detected: true, healthy: true }],
    reserved,
    resources: { memoryMb: Math.floor(totalmem() / 1_048_576), diskMb: 5 },
  })
  t.ok(spec.resources.cpuMhz >= cpus().length, 'every processor has a speed')
  const attributes = new Map(spec.attributes)
  t.equal(attributes.get('cpu.numcores'), String(cpus().length))
  t.equal(attributes.get('muster.version'), '1.2.3')
  t.equal(attributes.get('unique.storage.bytestotal'), '9000000')
  t.equal(attributes.get('unique.storage.bytesfree'), '3000000')
  t.equal(attributes.get('unique.storage.volume'), '/dev/vda')
  t.equal(spec.resources.networks[0]?.ip, '127.0.0.1')
})

t.test('the secret is made once, for its owner alone', async (t) => {
  const folder = await folderOf(t)
  const secret = await loadNodeSecret(folder)
  t.match(secret, secretPattern)
  t.equal(await loadNodeSecret(folder), secret)
  const path = join(folder, 'node-secret')
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.match(await readFile(path, 'utf8'), secret)
  await writeFile(path, 'short')
  await t.rejects(loadNodeSecret(folder), { code: 'corrupt' })
})
