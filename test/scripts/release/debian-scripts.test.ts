/** What the Debian package's scripts and units say, with stand-ins for systemd: a package manager waits for nothing of an agent. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { access, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from '../../../scripts/release/project.ts'

const form = (name: string): string =>
  readFileSync(join(root, 'scripts/release/forms/debian', name), 'utf8')

const systemctl = (folder: string): string => `#!/bin/sh
echo "systemctl $*" >> ${folder}/calls
case "$*" in
  *ActiveState*muster-client*) echo inactive ;;
  *ActiveState*) cat ${folder}/state ;;
  *User*) echo muster ;;
  *ExecStart*) echo "{ path=/usr/bin/muster ; argv[]=/usr/bin/muster agent -config /etc/x ; ignore_errors=no ; start_time=[n/a] }" ;;
  *try-restart*) exit 1 ;;
esac
`

const note = (folder: string, name: string): string =>
  `#!/bin/sh\necho "${name} $*" >> ${folder}/calls\n`

type Machine = {
  readonly hasData?: true
  /** The unit's user has no name, or nothing can be run as it. */
  readonly user?: 'unnamed' | 'unusable'
}

function setprivOf({ user }: Machine, judged: number): string {
  if (user === 'unusable') return 'exit 1\n'
  return `case "$*" in *-check) echo "a.hcl:1: x: unknown key"; exit ${judged} ;; esac\n`
}

/** `postinst configure` on a machine whose agent is in `state`; the new version judges its files with the exit code `judged`. */
async function configure(t: Test, state: string, judged: number, machine: Machine = {}) {
  const folder = t.testdir({ systemd: {}, state: `${state}\n` })
  const data = join(folder, 'data')
  if (machine.hasData === true) await mkdir(data)
  const bin = join(folder, 'systemd')
  const programs = {
    systemctl: systemctl(folder),
    setpriv: `${note(folder, 'setpriv')}${setprivOf(machine, judged)}`,
    id: machine.user === 'unnamed' ? '#!/bin/sh\nexit 1\n' : '#!/bin/sh\necho 7\n',
    ...Object.fromEntries(
      ['getent', 'install', 'chown', 'chmod', 'useradd'].map((name) => [name, note(folder, name)]),
    ),
  }
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(bin, name), text, { mode: 0o755 })
  }
  const script = form('postinst')
    .replaceAll('/run/systemd/system', bin)
    .replaceAll('/var/lib/muster', data)
  const env = { PATH: `${bin}:/usr/bin:/bin` }
  const { status, stderr } = spawnSync('sh', ['-c', script, 'postinst', 'configure'], {
    env,
    encoding: 'utf8',
  })
  const calls = await readFile(join(folder, 'calls'), 'utf8')
  const has = (text: string): boolean => calls.includes(text)
  return { status, stderr, calls, has }
}

t.test('an upgrade asks for a restart and does not wait for it', async (t) => {
  for (const state of ['active', 'activating']) {
    const { status, has } = await configure(t, state, 0)
    t.equal(status, 0, 'also where systemd refuses')
    t.ok(
      has(
        'setpriv --reuid=muster --regid=7 --init-groups /usr/bin/muster agent -config /etc/x -check',
      ),
      'the files are read as the unit has them read',
    )
    t.ok(has('systemctl --no-block try-restart muster.service'), state)
    t.notOk(has('try-restart muster-client'), 'what does not run is not started')
  }
})

t.test('an agent whose configuration the new version refuses goes on', async (t) => {
  const { status, stderr, has } = await configure(t, 'active', 1)
  t.equal(status, 0)
  t.match(stderr, /^a\.hcl:1: x: unknown key\nmuster: muster\.service was not restarted, /)
  t.notOk(has('restart'))
})

t.test('that the unit has a user whom nothing can be run as is no refusal', async (t) => {
  for (const user of ['unnamed', 'unusable'] as const) {
    const { status, stderr, has } = await configure(t, 'active', 1, { user })
    t.equal(status, 0)
    t.equal(stderr, '', user)
    t.notOk(has(' -check\n'))
    t.ok(has('systemctl --no-block try-restart muster.service'), user)
  }
})

t.test('a fresh installation starts nothing', async (t) => {
  const { status, has } = await configure(t, 'inactive', 0)
  t.equal(status, 0)
  t.notOk(has('restart'))
})

t.test('the data folder is made once, and then is whose it is', async (t) => {
  const made = /-o muster -g muster -m 0700 \S+\/data$/m
  t.match((await configure(t, 'inactive', 0)).calls, made)
  t.notMatch((await configure(t, 'inactive', 0, { hasData: true })).calls, made)
})

t.test('a purge leaves what it cannot remove, and does not fail', async (t) => {
  const folder = t.testdir({ data: { sub: { file: '' } }, bin: {}, elsewhere: { file: '' } })
  const data = join(folder, 'data')
  await symlink(join(folder, 'elsewhere'), join(folder, 'link'))
  for (const name of ['getent', 'userdel']) {
    const code = name === 'userdel' ? 8 : 0
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 })
  }
  // As of a mount.
  await writeFile(join(folder, 'bin/rmdir'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const script = form('postrm')
    .replaceAll('/run/systemd/system', '/does/not/exist')
    .replace('/var/lib/muster', data)
    .replace('/etc/muster.d', join(folder, 'link'))
  const { status, stderr } = spawnSync('sh', ['-c', script, 'postrm', 'purge'], {
    env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` },
    encoding: 'utf8',
  })
  t.equal(status, 0)
  t.match(stderr, `muster: ${data} stays: `)
  await t.rejects(access(join(data, 'sub')), { code: 'ENOENT' })
  await t.rejects(access(join(folder, 'link')), { code: 'ENOENT' }, 'a link is removed')
  await t.resolves(access(join(folder, 'elsewhere/file')), 'what it leads to is not')
})

t.test('no unit takes tasks, or what they use, away at a restart', async (t) => {
  for (const name of ['muster.service', 'muster-client.service']) {
    const unit = form(name)
    t.match(unit, /^KillMode=process$/m, name)
    t.notMatch(unit, /^(PrivateTmp|RemoveIPC)=/m, name)
  }
  t.match(form('muster-client.service'), /^Conflicts=muster\.service$/m)
})

t.test(
  'the agent that runs tasks has the data folder as root, and the time that it takes to stop',
  async (t) => {
    const unit = form('muster-client.service')
    t.match(unit, /^StateDirectory=muster\nStateDirectoryMode=0700$/m)
    t.match(unit, /^ExecStartPre=-\/bin\/chown root:root \/var\/lib\/muster$/m)
    t.notMatch(unit, /^User=/m, 'with one, systemd would give it all below the folder')
    t.match(unit, /^TimeoutStopSec=infinity$/m)
  },
)

t.test('the scripts are of the shell that runs them', async (t) => {
  for (const name of ['postinst', 'prerm', 'postrm']) {
    t.doesNotThrow(() => execFileSync('sh', ['-n'], { input: form(name) }), name)
  }
})
