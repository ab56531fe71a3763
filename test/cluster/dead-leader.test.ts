/** What the survivors tell of a leader whose process is gone. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { ownProgram } from '../support/server-process.ts'

const run = promisify(execFile)

const heartbeatMsMax = 500

t.test('a dead leader is not named again, and is shown as failed', async (t) => {
  // With leases consensus itself waits for the dead leader's lease to end.
  const cluster = await startCluster(t, { raft: { lease_reads: true } })
  const leader = await cluster.waitForLeader()
  const [first = 0, second = 0] = cluster.all.filter((at) => at !== leader)
  const addressOf = (at: number) => `127.0.0.1:${cluster.server(at).spec.ports.rpc}`
  const named = (at: number) => cluster.http(at).json('GET', '/v1/status/leader')
  const status = async (at: number) => {
    const { http } = cluster.server(at).spec.ports
    const env = { ...process.env, MUSTER_ADDR: `http://127.0.0.1:${http}` }
    const done = await run(ownProgram, ['status'], { env }).catch((error: unknown) => error)
    return (done as { readonly stdout: string }).stdout
  }
  const rowOf = (at: number, word: string) => new RegExp(`^s${at + 1} .* ${word}$`, 'm')
  t.match(await status(first), rowOf(leader, 'alive'))

  await cluster.kill(leader)
  for (const at of [first, second]) {
    const told: unknown[] = []
    await eventually('another leader is named', async () => {
      const answer = await named(at)
      if (answer !== told.at(-1)) told.push(answer)
      return answer !== '' && answer !== addressOf(leader) ? true : undefined
    })
    t.notOk(told.slice(1).includes(addressOf(leader)), `not again: ${told.join(', ')}`)
  }
  const led = await cluster.waitForLeader({ except: leader })
  const survivor = led === first ? second : first
  for (const at of [led, survivor]) {
    await eventually('the dead server is shown as failed', async () =>
      rowOf(leader, 'failed').test(await status(at)) ? true : undefined,
    )
  }

  const aloneMs = performance.now()
  await cluster.kill(survivor)
  await eventually('the last one, which led, names none', async () =>
    (await named(led)) === '' ? true : undefined,
  )
  const { headers } = await cluster.http(led).request('GET', '/v1/nodes?stale')
  const contactMs = Number(headers['x-service-lastcontact'])
  // Where the other one had come to lead meanwhile, its last heartbeat was some time before its death.
  const sinceMs = performance.now() - aloneMs + heartbeatMsMax
  t.ok(contactMs <= sinceMs, `${contactMs} ms since it led, of ${sinceMs.toFixed(0)}`)
  await eventually('both are shown as failed, and no leader', async () => {
    const last = await status(led)
    const rows = [rowOf(leader, 'failed'), rowOf(survivor, 'failed'), /^Leader {2}= none$/m]
    return rows.every((row) => row.test(last)) ? true : undefined
  })
})
