/** What a task may ask of its walls, and what is made of it: no process is started here. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { configOf } from '../../../../src/client-agent/drivers/exec/config.ts'
import {
  ControlGroup,
  openControlGroups,
  weightOf,
} from '../../../../src/client-agent/drivers/exec/control-group.ts'
import { sealed } from '../../../../src/client-agent/drivers/exec/sealed-environment.ts'
import { userOf } from '../../../../src/client-agent/drivers/exec/task-user.ts'
import { wordsOf } from '../../../../src/client-agent/drivers/exec/walls.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { taskOf } from '../task-of.ts'

t.test('a configuration is taken, or refused by name', async (t) => {
  const command = 'true'
  const none = { command, args: [], capabilities: [], sharesIpc: false }
  t.strictSame(configOf({ command }), none)
  t.strictSame(configOf({ command, pid_mode: 'private', ipc_mode: 'host', args: ['a'] }), {
    ...none,
    args: ['a'],
    sharesIpc: true,
  })
  const refusals: readonly [config: object, code: string, text: RegExp][] = [
    [{}, 'invalid_argument', /exec needs command/],
    [{ command: 1 }, 'invalid_argument', /exec needs command/],
    [{ command, image: 'x' }, 'invalid_argument', /exec knows no image; it takes command, args/],
    [{ command, pid_mode: 'shared' }, 'invalid_argument', /ipc_mode is "private" or "host"/],
    [{ command, pid_mode: 'host' }, 'not_implemented', /no pid_mode "host"/],
    [{ command, cap_add: ['chown'] }, 'invalid_argument', /adds no capability chown/],
    [{ command, cap_add: ['all'] }, 'invalid_argument', /adds no capability all/],
  ]
  for (const [config, code, message] of refusals) {
    t.throws(() => configOf({ ...config }), { code, message }, JSON.stringify(config))
  }
})

t.test('a task has the capabilities that it adds and does not drop', async (t) => {
  const added = (cap_add: string[], cap_drop: string[] = []) =>
    configOf({ command: 'true', cap_add, cap_drop }).capabilities
  t.strictSame(added(['CAP_NET_BIND_SERVICE', 'kill']), ['kill', 'net_bind_service'])
  t.strictSame(added(['kill', 'net_bind_service'], ['CAP_KILL']), ['net_bind_service'])
  t.strictSame(added(['kill'], ['all']), [])
  t.strictSame(added([], ['mknod']), [])
})

t.test('an environment is sealed but for what the agent finds the task by', async (t) => {
  const { env, names, naming } = sealed({
    PATH: '/local',
    LD_PRELOAD: '/local/x.so',
    'BASH_FUNC_mount%%': '() { evil; }',
    'a.b': 'no name for a shell',
    'a-b': 'no name at all',
    UID: '0',
    'x=$(id)': '',
    MUSTER_ALLOC_ID: 'a',
    MUSTER_TASK_NAME: 'main',
  })
  t.strictSame(names, ['PATH', 'LD_PRELOAD', 'MUSTER_DOTTED_0', 'MUSTER_DOTTED_1'])
  t.equal(
    naming,
    '-u MUSTER_DOTTED_0 -u MUSTER_DOTTED_1 "a.b=${MUSTER_DOTTED_0}" "UID=${MUSTER_DOTTED_1}"',
  )
  t.strictSame(env, {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    MUSTER_ALLOC_ID: 'a',
    MUSTER_TASK_NAME: 'main',
    MUSTER_SEALED_PATH: '/local',
    MUSTER_SEALED_LD_PRELOAD: '/local/x.so',
    MUSTER_SEALED_MUSTER_DOTTED_0: 'no name for a shell',
    MUSTER_SEALED_MUSTER_DOTTED_1: '0',
  })
})

t.test('a volume is mounted where no one but root made the way to it', async (t) => {
  const user = { name: 'nobody', uid: 65_534, gid: 65_534 }
  const config = { capabilities: [], sharesIpc: false }
  const wordsWith = async (...destinations: readonly string[]) => {
    const mounts = destinations.map((destination) => ({
      source: '/srv',
      destination,
      readOnly: destination === '/ro',
    }))
    const task = await taskOf(t, {}, { mounts })
    const files = { root: '/r', log: '/l', pids: '/p' }
    return wordsOf(task, { user, names: [], naming: '', config, group: null }, files, ['true'])
  }
  const words = (await wordsWith('/data', '/srv/deep', '/ro')).join(' ')
  t.match(words, ' /srv /data rw /srv /srv/deep rw /srv /ro ro -- ')
  for (const places of [
    ['/local/x'],
    ['/alloc//data'],
    ['/tmp'],
    ['/usr/lib/x/'],
    ['/dev/shm/x'],
    ['/data', '/data/sub'],
    ['/data', '/data'],
  ]) {
    await t.rejects(wordsWith(...places), { code: 'invalid_argument' }, places.join(' '))
  }
})

t.test('a task has a user of the machine, who is not root', async (t) => {
  t.match(await userOf(''), { name: 'nobody' })
  t.strictSame(await userOf('daemon'), await userOf('1'), 'also by its number')
  for (const name of ['root', '0', 'no-such-user', '-x', 'a:b', 'a b']) {
    await t.rejects(userOf(name), { code: 'invalid_argument' }, name)
  }
})

t.test('limits are files of a control group', async (t) => {
  const root = t.testdir({ 'cgroup.controllers': 'cpuset cpu io memory pids\n' })
  const groups = await openControlGroups(root, 'muster.slice')
  if (groups.type !== 'there') throw new Error(groups.reason)
  const text = (path: string) => readFile(join(root, path), 'utf8')
  t.equal(await text('cgroup.subtree_control'), '+cpu +memory +pids')
  t.equal(await text('muster.slice/cgroup.subtree_control'), '+cpu +memory +pids')
  const group = new ControlGroup(groups.folder, { allocation: 'id', task: 'a/../b' })
  await group.make({ cpuMhz: 1_000, memoryMb: 64, memoryMaxMb: 64 })
  const folder = 'muster.slice/id.a%2F..%2Fb.scope'
  t.equal(await text(`${folder}/memory.max`), String(64 * 1_048_576))
  t.equal(await text(`${folder}/memory.swap.max`), '0')
  t.equal(await text(`${folder}/cpu.weight`), '39')
  t.match(await text(`${folder}/pids.max`), /^\d+$/)
  await group.make({ cpuMhz: 1_000, memoryMb: 64, memoryMaxMb: 96 })
  t.equal(await text(`${folder}/memory.max`), String(96 * 1_048_576))
  t.equal(await text(`${folder}/memory.low`), String(64 * 1_048_576), 'it is kept for the task')
  await group.make({ cpuMhz: 1_000, memoryMb: 32, memoryMaxMb: null })
  t.equal(await text(`${folder}/memory.max`), 'max')
  t.equal(await text(`${folder}/memory.low`), String(32 * 1_048_576))
  t.equal(await group.oomKills(), 0)
  await writeFile(join(root, folder, 'memory.events'), 'oom 3\noom_kill 2\n')
  t.equal(await group.oomKills(), 2)
  const gone = new ControlGroup(join(root, 'none'), { allocation: 'id', task: 'main' })
  await t.rejects(gone.make({ cpuMhz: 1, memoryMb: 1, memoryMaxMb: 1 }), { code: 'unavailable' })
  await group.remove(systemClock)
  t.equal(await text(`${folder}/cgroup.kill`), '1')
  t.match(await openControlGroups(root, 'muster.slice'), { type: 'there' }, 'it may be there')
})

t.test('a machine without control groups says what it lacks', async (t) => {
  const root = t.testdir()
  const reasonOf = async (): Promise<string> => {
    const groups = await openControlGroups(root, 'muster.slice')
    return groups.type === 'missing' ? groups.reason : 'there'
  }
  t.match(await reasonOf(), `no cgroup v2 at ${root} (not there): tasks run without limits`)
  await writeFile(join(root, 'cgroup.controllers'), 'cpu\n')
  t.match(await reasonOf(), 'without the controllers memory, pids')
  await writeFile(join(root, 'cgroup.controllers'), 'cpu memory pids\n')
  await mkdir(join(root, 'cgroup.subtree_control'))
  t.match(await reasonOf(), 'EISDIR')
})

t.test('MHz are weights as the kernel makes them of shares', async (t) => {
  const weights = [0, 2, 100, 1_024, 262_144, 1e9].map(weightOf)
  t.strictSame(weights, [1, 1, 4, 39, 10_000, 10_000])
})
