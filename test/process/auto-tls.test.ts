/** `tls.auto`: certificates that a server makes at its first start, and renews at later ones. */
import { X509Certificate } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeOwnCertificates } from '../../src/process/auto-tls.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'

const dayMs = 24 * 60 * 60 * 1000

function stage(t: Test) {
  const folder = join(t.testdir(), 'tls')
  const lines: unknown[] = []
  const tell = (...line: unknown[]) => void lines.push(line)
  const logger = { ...silentLogger, info: tell, warn: tell }
  let daysLater = 0
  const clock = { ...systemClock, wallMs: () => Date.now() + daysLater * dayMs }
  const start = (after: number) => {
    daysLater = after
    const options = { folder, address: '10.0.0.1', region: 'eu', clock, logger }
    return makeOwnCertificates(options)
  }
  const cert = async () => new X509Certificate(await readFile(join(folder, 'server-1', 'cert.pem')))
  return { folder, lines, start, cert }
}

t.test('the first start makes them, and one after half of their time renews them', async (t) => {
  const { folder, lines, start, cert } = stage(t)
  await start(0)
  const first = await cert()
  t.match(first.subjectAltName, /DNS:server\.eu\.muster.*IP Address:10\.0\.0\.1/)
  const forClientAgents = join(folder, 'client')
  t.match(lines, [['made certificates (tls.auto)', { forClientAgents }]])
  await start(180)
  t.equal((await cert()).fingerprint256, first.fingerprint256)
  t.equal(lines.length, 1)
  await start(190)
  t.not((await cert()).fingerprint256, first.fingerprint256)
  t.equal(lines.length, 2)
})

t.test('without the key of the authority they serve to their end', async (t) => {
  const { folder, lines, start, cert } = stage(t)
  await start(0)
  const first = await cert()
  await rm(join(folder, 'authority', 'muster-agent-ca-key.pem'))
  await start(300)
  t.equal((await cert()).fingerprint256, first.fingerprint256)
  t.match(lines[1], [/were not renewed/, { reason: /muster-agent-ca-key\.pem is missing/ }])
  await t.rejects(start(366), { code: 'invalid_argument', message: /key\.pem is missing/ })
})
