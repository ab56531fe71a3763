/** Nomad's command line writes tokens of other programs into jobs: they are read over, and nobody keeps them. */
import t from 'tap'
import type { Logger } from '../../../src/lib/log.ts'
import { serverOfOne } from '../server-of-one.ts'
import { jobWith } from './job-drafts.ts'

const secret = 's3cr3t-of-another-program'
const tokens = { VaultToken: secret, ConsulToken: secret }

t.test('a job with tokens of Vault and Consul is taken, and the tokens are nowhere', async (t) => {
  const lines: string[] = []
  const write = (...line: readonly unknown[]) => void lines.push(JSON.stringify(line))
  const levels = { trace: write, debug: write, info: write, warn: write, error: write }
  const log: Logger = { ...levels, named: () => log, listens: () => true }
  const server = await serverOfOne(t, { log })
  const stream = await server.open('/v1/event/stream?topic=Job')
  const events: Buffer[] = []
  stream.body.on('data', (bytes: Buffer) => events.push(bytes))
  const answers: string[] = []
  const ask = async (method: string, url: string, body?: unknown) => {
    const answer = await server.ask(method, url, body)
    t.equal(answer.status, 200, `${method} ${url}: ${answer.body}`)
    answers.push(answer.body)
  }
  const job = jobWith(tokens)
  await ask('PUT', '/v1/validate/job', { Job: job })
  await ask('PUT', '/v1/job/web/plan', { Job: job, Diff: true })
  await ask('PUT', '/v1/jobs', { Job: job })
  await ask('PUT', '/v1/jobs', { Job: { ...job, vaulttoken: secret, Priority: 60 } })
  await ask('PUT', '/v1/job/web/plan', { Job: jobWith(), Diff: true })
  for (const part of ['', '/versions', '/evaluations', '/summary']) {
    await ask('GET', `/v1/job/web${part}`)
  }
  t.match(JSON.parse(answers.at(-4) ?? ''), { VaultToken: '' })
  const JobHCL = `job "web" {\n vault_token = "${secret}"\n consul_token = "${secret}"\n}`
  await ask('PUT', '/v1/jobs/parse', { JobHCL })
  while (!Buffer.concat(events).toString().includes('"Priority":60')) {
    await new Promise((resolve) => stream.body.once('data', resolve))
  }
  stream.body.destroy()
  const rows: Buffer[] = []
  const source = server.machine.exportRows()
  for await (const block of source.blocks()) rows.push(Buffer.from(block))
  source.close()
  const kept = { rows: Buffer.concat(rows), events: Buffer.concat(events) }
  t.ok(kept.rows.includes('web'))
  t.notOk(kept.rows.includes(secret))
  t.notOk(kept.events.includes(secret))
  t.notOk([...answers, ...lines, JSON.stringify(server.auditNotes)].join().includes(secret))
})

t.test('blocks of Vault stay refused', async (t) => {
  const server = await serverOfOne(t)
  const Job = jobWith(tokens, {}, { Vault: { Policies: ['a'] } })
  const answer = await server.ask('PUT', '/v1/jobs', { Job })
  t.match(answer, { status: 400, body: /^TaskGroups\[0\]\.Tasks\[0\]\.Vault is not served/ })
  t.notOk(answer.body.includes(secret))
})
