/** What a task does against its walls: others' files, others' processes, root's programs, and the folders of its next start. */
import { spawn } from 'node:child_process'
import { chmod, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { processState } from '../../../../src/client-agent/drivers/process-identity.ts'
import { driverFor, execTask, lines, printedBy, started } from './within.ts'

t.test('the root is the task’s own, and holds nothing of others', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const other = await execTask(t, driver, '')
  await writeFile(join(other.secrets, 'key'), 'another task')
  await writeFile(join(other.runFolder, 'state'), 'the agent')
  const script = [
    'ls /',
    `cat ${other.secrets}/key ${other.runFolder}/state /etc/shadow; ls ${other.folder} /root /home /var/lib`,
    'touch /x /etc/x /usr/x /usr/bin/sh /dev/x; rm -rf /usr/bin /etc/passwd; ls /usr/bin/sh /etc/passwd',
    'touch /local/a /secrets/a /tmp/a /alloc/data/a /alloc/tmp/a && echo writes',
  ].join('\n')
  const task = await execTask(t, driver, script)
  await (
    await started(t, driver, task)
  ).ended
  const printed = (await readFile(task.stdout, 'utf8')).trim().split('\n')
  const told = printed.filter((name) => !/^(bin|sbin|lib|lib32|lib64|libx32|usr)$/.test(name))
  t.strictSame(told, [
    'alloc',
    'dev',
    'etc',
    'local',
    'proc',
    'secrets',
    'tmp',
    'var',
    '/etc/passwd',
    '/usr/bin/sh',
    'writes',
  ])
  t.equal((await stat(join(task.local, 'a'))).uid, 65_534)
  t.equal((await stat(task.secrets)).mode & 0o777, 0o700)
})

t.test('an agent that keeps its files to itself closes nothing to its tasks', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const before = process.umask(0o077)
  t.teardown(() => process.umask(before))
  const script = 'ls /etc/ssl /dev /alloc/logs >/dev/null && touch /alloc/data/a /local/a && umask'
  t.equal(await printedBy(t, driver, script), '0022\n')
})

t.test('it has no capabilities, and gets none back', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const script = 'grep -E "^(Cap|NoNewPrivs|Groups)" /proc/self/status'
  const none = '0000000000000000'
  const statusOf = async (cap_add: readonly string[]) => {
    const config = { command: 'sh', args: ['-c', script], cap_add }
    const text = await printedBy(t, driver, '', { config })
    return Object.fromEntries(
      text.split('\n').map((line) => line.split(/:\s*/).slice(0, 2)),
    ) as Record<string, string>
  }
  t.match(await statusOf([]), {
    CapInh: none,
    CapPrm: none,
    CapEff: none,
    CapBnd: none,
    CapAmb: none,
    NoNewPrivs: '1',
    Groups: '',
  })
  const bind = '0000000000000400'
  t.match(await statusOf(['net_bind_service']), { CapEff: bind, CapBnd: bind, CapAmb: bind })
})

t.test('it sees and kills no processes but its own', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const other = await execTask(t, driver, 'echo up; exec sleep 1000', { env: { SECRET: 's3cret' } })
  const running = await started(t, driver, other)
  await lines(other, 1)
  const outside = spawn('sleep', ['1000'], { stdio: 'ignore' })
  t.teardown(() => outside.kill('SIGKILL'))
  const script = [
    'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c s3cret',
    'for one in /proc/[0-9]*; do read -r name <$one/comm; echo $name; done',
    `for pid in ${outside.pid} ${running.handle.type === 'process' ? running.handle.pid : 0} 1; do kill -9 $pid; done`,
    'ls /proc/1/root /proc/1/cwd /proc/1/fd',
    'trap "" TERM; kill -TERM -1; echo whole',
  ].join('\n')
  const printed = (await printedBy(t, driver, script)).trim().split('\n')
  t.strictSame(printed, ['0', 'sh', 'sh', 'whole'])
  t.equal(outside.exitCode ?? outside.signalCode, null, 'what is outside runs')
  if (running.handle.type !== 'process') throw new Error('a process')
  t.equal(processState(running.handle.pid)?.isZombie, false, 'the other task runs')
})

t.test('namespaces are its own, IPC unless it asks otherwise', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const args = ['-c', 'for ns in pid mnt ipc net; do readlink /proc/self/ns/$ns; done']
  const own = async (more: object) =>
    (await printedBy(t, driver, '', { config: { command: 'sh', args, ...more } }))
      .trim()
      .split('\n')
  const machine = await Promise.all(
    ['pid', 'mnt', 'ipc', 'net'].map((name) => readlink(`/proc/self/ns/${name}`)),
  )
  const shared = async (more: object) =>
    (await own(more)).flatMap((name, at) => (name === machine[at] ? [at] : []))
  t.strictSame(await shared({}), [3], 'the network alone is the machine’s')
  t.strictSame(await shared({ ipc_mode: 'host' }), [2, 3])
})

t.test('its environment and its programs have no say as root', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, 'echo "$LD_PRELOAD"; touch /local/ran')
  const { local } = task
  for (const name of ['mount', 'umount', 'unshare', 'setpriv', 'sh', 'cp', 'mkdir', 'readlink']) {
    const text = `#!/bin/dash\nid -u >>${local}/by 2>>/local/by\n`
    await writeFile(join(local, name), text, { mode: 0o755 })
  }
  const env = {
    ...task.env,
    PATH: `${local}:/usr/bin:/bin`,
    LD_PRELOAD: '/local/x.so',
    LD_LIBRARY_PATH: local,
    ENV: `${local}/mount`,
    BASH_ENV: `${local}/mount`,
    'BASH_FUNC_mount%%': `() { id -u >>${local}/by; }`,
    LIBMOUNT_FSTAB: '/local/fstab',
    MUSTER_ABOVE: '1',
    MUSTER_SEALED_PATH: local,
  }
  const config = { command: '/bin/sh', args: ['-c', 'echo "$LD_PRELOAD"; touch /local/ran'] }
  const running = await started(t, driver, { ...task, env, config })
  await running.ended
  t.match(await readFile(task.stdout, 'utf8'), '/local/x.so\n', 'it has them itself')
  t.ok(await stat(join(local, 'ran')))
  await t.rejects(readFile(join(local, 'by')), { code: 'ENOENT' }, 'none of them was run')
  const log = await readFile(join(task.runFolder, 'walls'), 'utf8')
  t.notMatch(log, 'preload', 'nothing of root loaded a library of the task')
})

t.test('links that it leaves lead its next start nowhere', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const outside = t.testdir({ untouched: '' })
  const plant = [
    'mv /alloc/logs /alloc/old; rm -rf /alloc/logs; mv /alloc/data /alloc/gone',
    `ln -s ${outside}/made /alloc/logs/main.stdout.1; ln -s ${outside} /alloc/evil`,
    `for name in etc usr dev proc root volume .machine; do ln -s ${outside} /local/$name; ln -s ${outside} /tmp/$name; done`,
    'chmod 0 /local /secrets /tmp; chmod 4755 /secrets; rmdir /local /tmp /secrets',
    `ln -s ${outside} /alloc/data/evil; chmod 0777 /alloc /`,
  ].join('\n')
  const task = await execTask(t, driver, plant)
  await (
    await started(t, driver, task)
  ).ended
  const config = { command: 'sh', args: ['-c', 'ls /alloc; echo again >/local/again'] }
  const folders = { ...task, task: task.folder, logs: join(task.shared, 'logs') }
  await driver.prepare(folders, '')
  const mounts = [{ source: outside, destination: '/volume', readOnly: true }]
  const second = await started(t, driver, { ...task, config, mounts })
  t.match(await second.ended, { code: 2, message: '' }, 'its folder is as closed as it left it')
  t.strictSame(await readdir(outside), ['untouched'])
  t.strictSame(await readdir(task.shared), ['data', 'logs', 'tmp'])
  t.strictSame(await readdir(join(task.shared, 'logs')), ['main.stderr.0', 'main.stdout.0'])
  t.equal((await stat(outside)).uid, process.getuid?.())
})

t.test('a volume is where the task wants it, and read-only where it is to be', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const volumes = t.testdir({ one: { file: 'one\n' }, two: {} })
  const mounts = [
    { source: join(volumes, 'one'), destination: '/data/one', readOnly: true },
    { source: join(volumes, 'two'), destination: '/data/with blank', readOnly: false },
  ]
  await chmod(join(volumes, 'two'), 0o777)
  const script = 'cat /data/one/file; touch /data/one/x; echo two >"/data/with blank/file"'
  t.equal(await printedBy(t, driver, script, { mounts }), 'one\n')
  t.strictSame(await readdir(join(volumes, 'one')), ['file'])
  t.equal(await readFile(join(volumes, 'two/file'), 'utf8'), 'two\n')
})

t.test('its mounts, and those that it tries, are not the machine’s', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const script = [
    'mount -t tmpfs x /tmp; umount /usr; unshare -Urm mount -t tmpfs x /tmp; echo up',
    'while [ ! -e /local/go ]; do sleep 0.05; done',
  ].join('\n')
  const task = await execTask(t, driver, script)
  const running = await started(t, driver, task)
  await lines(task, 1)
  t.match(await readFile(`/proc/${process.pid}/mountinfo`, 'utf8'), ' / / ')
  t.notMatch(await readFile(`/proc/${process.pid}/mountinfo`, 'utf8'), task.allocation)
  await writeFile(join(task.local, 'go'), '')
  t.match(await running.ended, { code: 0 })
  t.strictSame(await readdir(join(task.runFolder, 'root')), [])
})
