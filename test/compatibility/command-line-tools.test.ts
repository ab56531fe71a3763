/**
 * What the command-line tools of Nomad and Consul ask, and the fields they decode and print: Nomad's for members, join,
 * force-leave, list-peers, agent-info, monitor and what belongs to them, Consul's as far as they are served.
 */
import t from 'tap'
import { steadyLeadership } from '../support/cluster.ts'
import { serverOfThree } from '../support/server-of-three.ts'
import { misfits, type GoType } from '../support/go-shapes.ts'

const versions = {
  ProtocolMin: 'uint8',
  ProtocolMax: 'uint8',
  ProtocolCur: 'uint8',
  DelegateMin: 'uint8',
  DelegateMax: 'uint8',
  DelegateCur: 'uint8',
} as const

/** The tags that it makes columns of, or finds the leader by. */
const tags: GoType = {
  struct: {
    region: 'string',
    dc: 'string',
    build: 'string',
    port: 'string',
    raft_vsn: 'string',
    vsn: 'string',
    role: 'string',
  },
}

const member: GoType = {
  struct: {
    Name: 'string',
    Addr: 'string',
    Port: 'uint16',
    Tags: tags,
    Status: 'string',
    ...versions,
  },
}

const raftServer: GoType = {
  struct: {
    ID: 'string',
    Node: 'string',
    Address: 'string',
    Leader: 'bool',
    Voter: 'bool',
    RaftProtocol: 'string',
    ProtocolVersion: 'string',
  },
}

const metric: GoType = {
  struct: {
    Name: 'string',
    Count: 'int',
    Sum: 'float',
    Min: 'float',
    Max: 'float',
    Mean: 'float',
    Rate: 'float',
    Stddev: 'float',
    Labels: { map: 'string' },
  },
}

/** By what a tool asks: what it decodes. */
const reads: readonly (readonly [command: string, path: string, type: GoType])[] = [
  [
    'server members',
    '/v1/agent/members?region=global',
    {
      struct: {
        ServerName: 'string',
        ServerRegion: 'string',
        ServerDC: 'string',
        Members: { list: member },
      },
    },
  ],
  ['server members', '/v1/status/leader?region=global', 'string'],
  ['operator debug', '/v1/status/peers', { list: 'string' }],
  ['operator debug', '/v1/regions', { list: 'string' }],
  [
    'agent-info',
    '/v1/agent/self',
    { struct: { config: { map: 'anything' }, member, stats: { map: { map: 'string' } } } },
  ],
  [
    'operator debug, and hints of pages',
    '/v1/agent/self',
    {
      struct: {
        config: {
          struct: {
            Consul: { struct: { Addr: 'string', Token: 'string' } },
            Vault: { struct: { Addr: 'string', Token: 'string' } },
            UI: { struct: { ShowCLIHints: 'bool' } },
          },
        },
      },
    },
  ],
  [
    'check',
    '/v1/agent/self',
    {
      struct: {
        stats: {
          struct: {
            nomad: { struct: { server: 'string', leader: 'string' } },
            raft: { struct: { num_peers: 'string', last_contact: 'string' } },
          },
        },
      },
    },
  ],
  [
    'operator raft list-peers',
    '/v1/operator/raft/configuration?stale=',
    { struct: { Servers: { list: raftServer }, Index: 'uint64' } },
  ],
  [
    'operator autopilot get-config',
    '/v1/operator/autopilot/configuration',
    {
      struct: {
        CleanupDeadServers: 'bool',
        LastContactThreshold: 'duration',
        MaxTrailingLogs: 'uint64',
        MinQuorum: 'uint64',
        ServerStabilizationTime: 'duration',
        EnableRedundancyZones: 'bool',
        DisableUpgradeMigration: 'bool',
        EnableCustomUpgrades: 'bool',
        CreateIndex: 'uint64',
        ModifyIndex: 'uint64',
      },
    },
  ],
  [
    'operator autopilot health',
    '/v1/operator/autopilot/health',
    {
      struct: {
        Healthy: 'bool',
        FailureTolerance: 'int',
        Leader: 'string',
        Voters: { list: 'string' },
        Servers: {
          list: {
            struct: {
              ID: 'string',
              Name: 'string',
              Address: 'string',
              SerfStatus: 'string',
              Version: 'string',
              Leader: 'bool',
              LastContact: 'duration',
              LastTerm: 'uint64',
              LastIndex: 'uint64',
              Healthy: 'bool',
              Voter: 'bool',
              StableSince: 'time',
            },
          },
        },
      },
    },
  ],
  [
    'operator debug',
    '/v1/agent/host',
    {
      struct: {
        AgentID: 'string',
        HostData: {
          struct: {
            OS: 'string',
            Network: { list: { map: 'string' } },
            ResolvConf: 'string',
            Hosts: 'string',
            Environment: { map: 'string' },
            Disk: { map: { struct: { DiskMB: 'int', UsedMB: 'int' } } },
          },
        },
      },
    },
  ],
  [
    'operator debug',
    '/v1/metrics',
    {
      struct: {
        Timestamp: 'string',
        Gauges: {
          list: { struct: { Name: 'string', Value: 'float', Labels: { map: 'string' } } },
        },
        Points: { list: 'anything' },
        Counters: { list: metric },
        Samples: { list: metric },
      },
    },
  ],
  [
    'namespace list',
    '/v1/namespaces',
    {
      list: {
        struct: {
          Name: 'string',
          Description: 'string',
          CreateIndex: 'uint64',
          ModifyIndex: 'uint64',
        },
      },
    },
  ],
  [
    'members of the session service',
    '/v1/agent/members?segment=_all',
    {
      list: {
        struct: {
          Name: 'string',
          Addr: 'string',
          Port: 'uint16',
          Tags: tags,
          Status: 'int',
          ...versions,
        },
      },
    },
  ],
]

t.test("what the peers' tools read has the types they decode", async (t) => {
  const cluster = await serverOfThree(t, { gossip: true, raft: steadyLeadership })
  const leader = await cluster.waitForLeader()
  const follower = (leader + 1) % cluster.size
  for (const at of [leader, follower]) {
    const http = cluster.http(at)
    for (const [command, path, type] of reads) {
      const { status, body } = await http.request('GET', path)
      // Servers that only just started are not stable yet.
      t.ok(status === 200 || (path.endsWith('/health') && status === 429), `${path}: ${status}`)
      t.same(misfits(JSON.parse(body.toString()), type), [], `${command}: ${path}`)
    }

    await t.test('what joins, gives up and follows', async (t) => {
      const other = cluster.server((at + 1) % cluster.size).spec.ports.gossip
      const joined = await http.json('PUT', `/v1/agent/join?address=127.0.0.1%3A${other}`)
      t.same(misfits(joined, { struct: { num_joined: 'int', error: 'string' } }), [])
      const left = await http.request('PUT', '/v1/agent/force-leave?node=nobody&prune=1')
      t.same([left.status, left.body.length], [200, 0])
      const refused = await http.request('GET', '/v1/agent/members?region=elsewhere')
      t.same([refused.status, refused.body.toString()], [500, 'No path to region'])
      const self = await http.request('GET', '/v1/agent/self?region=elsewhere')
      t.equal(self.status, 200, 'about this server alone')
    })
  }
})

t.test('a shape says what does not fit', (t) => {
  const type: GoType = { struct: { A: 'int', B: { list: 'duration' }, C: { map: 'time' } } }
  t.same(misfits({ A: 1, B: ['1m30s', '-1ns'], C: { x: '2026-01-31T12:00:00.5Z' } }, type), [])
  t.same(misfits({ A: 0.5, B: ['1'], C: { x: 1 } }, type), [
    '.A is 0.5',
    '.B[0] is "1"',
    '.C.x is 1',
  ])
  t.same(misfits({ A: '1', B: null }, type), ['.A is "1"', '.B is null', '.C is undefined'])
  t.same(misfits(256, 'uint8'), ['(all) is 256'])
  t.end()
})
