/** `muster operator autopilot`. */
import t from 'tap'
import { standIn } from './api-stand-in.ts'
import { serverForCli } from './server-for-cli.ts'
import { run } from './terminal.ts'

const path = '/v1/operator/autopilot/configuration'

void t.test('the configuration is shown, and changed in what is named alone', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster('operator autopilot get-config'), {
    code: 0,
    out: /^CleanupDeadServers {6}= true\n[^]*MaxTrailingLogs {9}= 250\n/,
    err: '',
  })
  const set = 'operator autopilot set-config'
  t.match(await muster(`${set} -cleanup-dead-servers=false -server-stabilization-time 3s`), {
    code: 0,
    out: 'Configuration updated\n',
  })
  t.match(await muster(`${set} -max-trailing-logs 9 -min-quorum 3`), { code: 0 })
  const names =
    '{{.CleanupDeadServers}} {{.LastContactThreshold}} {{.MaxTrailingLogs}} {{.MinQuorum}} {{.ServerStabilizationTime}}'
  t.match(await muster(['operator', 'autopilot', 'get-config', '-t', names]), {
    out: 'false 200ms 9 3 3s\n',
  })
  t.match(await muster(`${set} -min-quorum 1000`), { code: 1, err: /MinQuorum must be/ })
  t.match(await muster(set), { code: 2, err: /say what to change: -cleanup-dead-servers/ })
  t.match(await muster(`${set} -last-contact-threshold soon`), { code: 2, err: /a duration/ })
})

void t.test('a change by another at the same moment is a conflict', async (t) => {
  const json = { MinQuorum: 0, CreateIndex: 4, ModifyIndex: 7 }
  const { address, asked } = await standIn(t, {
    [`GET ${path}`]: { json },
    [`PUT ${path}`]: { json: false },
  })
  const line = ['operator', 'autopilot', 'set-config', '-address', address, '-min-quorum', '3']
  t.match(await run(line), { code: 1, out: '', err: /nothing was changed/ })
  t.equal(asked[1]?.url, `${path}?cas=7`)
  t.same(JSON.parse(asked[1]?.body ?? ''), { MinQuorum: 3 })
})

void t.test('health tells who is not well, by the exit code too', async (t) => {
  const server = {
    ID: 'i1',
    Name: 's1',
    Address: '127.0.0.1:1',
    SerfStatus: 'failed',
    Version: '0.1.0',
    Leader: false,
    LastContact: '-1ms',
    LastTerm: 2,
    LastIndex: 3,
    Healthy: false,
    Voter: true,
    StableSince: '1970-01-01T00:00:01.000Z',
  }
  const { address } = await standIn(t, {
    'GET /v1/operator/autopilot/health': {
      status: 429,
      json: { Healthy: false, FailureTolerance: 0, Servers: [server] },
    },
  })
  t.match(await run(['operator', 'autopilot', 'health', '-address', address]), {
    code: 1,
    out:
      'Healthy           = false\nFailure Tolerance = 0\n\n' +
      'Name  ID  Address      Serf    Version  Leader  Voter  Healthy  Last Contact  Last Term  Last Index  Stable Since\n' +
      's1    i1  127.0.0.1:1  failed  0.1.0    false   true   false    never         2          3           1970-01-01T00:00:01.000Z\n',
    err: '',
  })
  const { muster } = await serverForCli(t)
  t.match(await muster(['operator', 'autopilot', 'health', '-t', '{{.FailureTolerance}}']), {
    code: 0,
    out: '0\n',
  })
})
