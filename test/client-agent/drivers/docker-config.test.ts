/** What a task may say of its container, what becomes of it, and what is refused. */
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { begun, never, nothing, setting, shellTask } from './docker-setting.ts'

t.test('what a task may not have is refused, by name', async (t) => {
  const { driver, engine } = await setting(t)
  const rows: readonly (readonly [Readonly<Record<string, unknown>>, RegExp])[] = [
    [{ image: undefined }, /docker: image must be the name of an image/],
    [{ memory: 1 }, /docker knows no memory; it takes image, command, args/],
    [{ ports: 'http' }, /docker: ports must be a list of labels/],
    [
      { auth: { username: 'a', secret: 'hunter2' } },
      /^docker: auth must be a block with username, password, server_address$/,
    ],
    [{ privileged: true }, /privileged is not allowed by this agent/],
    [{ cap_add: ['net_admin'] }, /cap_add may not have net_admin; this agent allows audit_write/],
    [{ volumes: ['/etc:/x'] }, /\/etc of the machine may not be mounted here/],
    [{ volumes: ['../../x:/x'] }, /must lie below the folder of the task/],
    [{ volumes: ['./:/x'] }, /must lie below the folder of the task/],
    [{ volumes: ['local/away:/x'] }, /leads out of the folder of the task by a link/],
    [{ volumes: ['local:/secrets'] }, /cannot be mounted at "\/secrets"/],
    [{ mount: [{ type: 'bind', source: '/', target: '/x' }] }, /may not be mounted here/],
    [{ ports: ['http'] }, /the group has no port http; it has db/],
    [{ ports: ['db'], network_mode: 'none' }, /ports need a network/],
    [{ image_pull_timeout: 'soon' }, /must be a duration/],
    [{ ulimit: [{ nofile: 'many' }] }, /ulimit nofile must be as/],
  ]
  for (const [config, message] of rows) {
    const ports = [{ label: 'db', value: 20_000, to: 0, address: '10.0.0.1' }]
    const task = await shellTask(t, 'true', config, { ports })
    await symlink('/etc', join(task.local, 'away'))
    const failing = driver.start(task, never, nothing)
    await t.rejects(failing, { code: 'invalid_argument', message }, JSON.stringify(config))
  }
  t.equal(engine.containers.size, 0)
})

t.test('memory without a limit is reserved, and no more', async (t) => {
  const { driver, engine } = await setting(t)
  const resources = { cpuMhz: 100, memoryMb: 100, memoryMaxMb: null }
  const task = await shellTask(t, 'true', {}, { resources })
  t.match(await (await begun(t, driver, task)).ended, { code: 0 })
  const [asked] = engine.asked('POST /containers/create')
  const HostConfig = { Memory: 0, MemorySwap: 0, MemoryReservation: 100 * 2 ** 20 }
  t.match(asked?.json, { HostConfig })
})

t.test('ports, mounts and limits are as the task says', async (t) => {
  const { driver, engine } = await setting(t, { allowVolumes: true, allowCaps: ['all'] })
  const config = {
    ports: ['http'],
    volumes: ['local/conf:/etc/web:ro', '/srv:/srv'],
    mount: [{ type: 'tmpfs', target: '/cache', tmpfs_options: [{ size: 1_000 }] }],
    cap_add: ['CAP_NET_ADMIN'],
    cap_drop: ['all'],
    labels: [{ team: 'a' }],
    memory_hard_limit: 200,
    cpu_hard_limit: true,
    ulimit: [{ nofile: '10:20' }],
    tmpfs: ['/tmp:size=64m'],
    entrypoint: ['/bin/sh'],
    command: '-c',
    args: ['exit 0'],
  }
  const ports = [{ label: 'http', value: 20_080, to: 80, address: '10.0.0.1' }]
  const mounts = [{ source: '/srv', destination: '/data', readOnly: true }]
  const task = await shellTask(t, 'true', config, { ports, mounts, user: 'web' })
  t.match(await (await begun(t, driver, task)).ended, { code: 0 })
  const [asked] = engine.asked('POST /containers/create')
  const at = [{ HostIp: '10.0.0.1', HostPort: '20080' }]
  t.match(asked?.json, {
    User: 'web',
    Labels: { team: 'a' },
    ExposedPorts: { '80/tcp': {} },
    HostConfig: {
      PortBindings: { '80/tcp': at, '80/udp': at },
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN'],
      Memory: 200 * 2 ** 20,
      MemoryReservation: 100 * 2 ** 20,
      NanoCpus: 1e8,
      Ulimits: [{ Name: 'nofile', Soft: 10, Hard: 20 }],
      Tmpfs: { '/tmp': 'size=64m' },
      RestartPolicy: { Name: 'no' },
      Mounts: [
        { Source: task.shared, Target: '/alloc' },
        { Source: task.local, Target: '/local' },
        { Source: task.secrets, Target: '/secrets' },
        { Source: join(task.shared, 'logs'), Target: '/alloc/logs', ReadOnly: true },
        { Source: '/srv', Target: '/data', ReadOnly: true },
        { Source: join(task.local, 'conf'), Target: '/etc/web', ReadOnly: true },
        { Source: '/srv', Target: '/srv', ReadOnly: false },
        { Type: 'tmpfs', Target: '/cache', TmpfsOptions: { SizeBytes: 1_000 } },
      ],
    },
  })
})

t.test('a hard limit of processor time is at least what a daemon takes', async (t) => {
  const { driver, engine } = await setting(t)
  const resources = { cpuMhz: 1, memoryMb: 100, memoryMaxMb: 100 }
  const task = await shellTask(t, 'true', { cpu_hard_limit: true }, { resources })
  t.match(await (await begun(t, driver, task)).ended, { code: 0 })
  const [asked] = engine.asked('POST /containers/create')
  t.match(asked?.json, { HostConfig: { NanoCpus: 1e7 } })
})
