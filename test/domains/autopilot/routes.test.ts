/** Autopilot over HTTP. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

const path = '/v1/operator/autopilot/configuration'

t.test('the configuration has defaults, is replaced whole, and keeps to cas', async (t) => {
  const server = await serverOfOne(t)
  const read = async () => (await server.ask('GET', path)).json()
  t.match(await read(), {
    CleanupDeadServers: true,
    LastContactThreshold: '200ms',
    MaxTrailingLogs: 250,
    MinQuorum: 0,
    ServerStabilizationTime: '10s',
    EnableRedundancyZones: false,
    ModifyIndex: 0,
  })
  const first = await server.ask('PUT', `${path}?cas=0`, {
    CleanupDeadServers: false,
    ServerStabilizationTime: '1s',
    MinQuorum: 3,
  })
  t.same([first.status, first.json()], [200, true])
  t.same((await server.ask('PUT', `${path}?cas=0`, {})).json(), false, 'it has changed since')
  t.match(await read(), {
    CleanupDeadServers: false,
    LastContactThreshold: '200ms',
    ServerStabilizationTime: '1s',
    MinQuorum: 3,
  })
  t.equal((await server.ask('PUT', path, {})).json(), true)
  t.match(await read(), { CleanupDeadServers: true, MinQuorum: 0 })
})

t.test('what cannot be is refused', async (t) => {
  const server = await serverOfOne(t)
  const rows = [
    [{ LastContactThreshold: 'soon' }, 400],
    [{ LastContactThreshold: '0s' }, 400],
    [{ MaxTrailingLogs: -1 }, 400],
    [{ MinQuorum: 100 }, 400],
    [{ ServerStabilizationTime: '25h' }, 400],
    [{ EnableRedundancyZones: true }, 501],
  ] as const
  for (const [body, status] of rows) {
    t.equal((await server.ask('PUT', path, body)).status, status, JSON.stringify(body))
  }
})

t.test('health is 429 when a server is not well', async (t) => {
  let healthy = true
  const server = await serverOfOne(t, {
    health: () => ({
      healthy,
      failureTolerance: 1,
      servers: [
        {
          id: 'i',
          name: 's1',
          address: '10.0.0.1:4647',
          gossipStatus: 'alive',
          version: '1.0',
          isLeader: false,
          isVoter: true,
          lastContactMs: 12.4,
          lastTerm: 3,
          lastIndex: 9,
          healthy,
          stableSinceMs: 1_000,
        },
      ],
    }),
  })
  const ask = () => server.ask('GET', '/v1/operator/autopilot/health')
  const well = await ask()
  t.equal(well.status, 200)
  t.same(well.json(), {
    Healthy: true,
    FailureTolerance: 1,
    Leader: '',
    Voters: ['i'],
    Servers: [
      {
        ID: 'i',
        Name: 's1',
        Address: '10.0.0.1:4647',
        SerfStatus: 'alive',
        Version: '1.0',
        Leader: false,
        LastContact: '12ms',
        LastTerm: 3,
        LastIndex: 9,
        Healthy: true,
        Voter: true,
        StableSince: '1970-01-01T00:00:01.000Z',
      },
    ],
  })
  healthy = false
  t.match(await ask(), { status: 429 })
})
