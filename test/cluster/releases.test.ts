/** The release forms, from an empty folder: what `npm run release` makes is installed, started, used and ended. */
import { access, chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { freePorts } from '../support/free-ports.ts'
import { arch, makeRelease, runIn, useAgent } from '../support/release.ts'

const { version } = manifest
const folder = t.testdir()
const made = await makeRelease(join(folder, 'dist'), ['package', 'executable', 'debian'])

t.test('the npm package installs without a network and runs', async (t) => {
  const home = join(folder, 'package')
  await mkdir(home)
  const tarball = join(made, `muster-${version}.tgz`)
  const installed = await runIn(home, ['npm', 'i', '-g', '--prefix', home, '--offline', tarball])
  t.equal(installed.code, 0, installed.err)
  const program = join(home, 'bin/muster')
  t.same(await runIn(home, [program, 'version']), { code: 0, out: `muster ${version}\n`, err: '' })
  const used = await useAgent(home, [program, 'agent', '-dev'])
  t.match(used, { written: 200, read: 'tried', code: 0 }, used.log)

  const planted = join(home, 'planted.cjs')
  await writeFile(
    planted,
    `require('node:crypto').randomBytes = () => { throw new TypeError('planted') }`,
  )
  const failed = await runIn(home, [program, 'gossip', 'keygen'], {
    NODE_OPTIONS: `--require=${planted}`,
  })
  t.match(failed.err, /TypeError: planted\n/)
  t.match(failed.err, /\(src\/cli\/cli\.ts:\d+:\d+\)/, 'a stack trace names source files')
  t.notMatch(failed.err, /muster\.cjs/)
})

t.test('the single executable runs by itself and leaves nothing behind', async (t) => {
  const home = join(folder, 'executable')
  await mkdir(home)
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const program = join(bin, 'muster')
  await copyFile(join(made, 'muster'), program)
  t.same(await runIn(home, [program, 'version']), { code: 0, out: `muster ${version}\n`, err: '' })
  const used = await useAgent(home, [program, 'agent', '-dev'])
  t.match(used, { written: 200, read: 'tried', code: 0 }, used.log)
  t.same(await readdir(home), [], 'the binding was removed once it was loaded')

  const nowhere = ['unshare', '--mount', 'sh', '-c', withoutTemporaryFolders, bin]
  if ((await runIn(home, [...nowhere, 'true'])).code !== 0) {
    console.error('Folders that take no programs were not tried: this needs root')
    return
  }
  const [http, rpc, gossip, ops] = await freePorts(4)
  // Below it nothing is executed either.
  const config = {
    data_dir: '/run/muster-data',
    bind_addr: '127.0.0.1',
    ports: { http, rpc, gossip, ops },
    server: { enabled: true, bootstrap_expect: 1 },
  }
  await writeFile(join(bin, 'a.json'), JSON.stringify(config))
  const agent = [...nowhere, '/mnt/muster', 'agent', '-config', '/mnt/a.json']
  const refused = await runIn(home, agent, { TMPDIR: '/tmp' })
  t.equal(refused.code, 1, refused.out)
  t.match(
    refused.err,
    /^muster agent: the shared library of LevelDB cannot be loaded from any folder: /,
  )
  for (const tried of ['/mnt/classic-level.node', '/tmp', '/run', '/run/muster-data']) {
    t.ok(refused.err.includes(` ${tried}: `) || refused.err.includes(`(${tried}: `), tried)
  }
  t.notMatch(refused.err, / at /, 'it is no defect')
  t.notMatch(refused.out, /the disk refuses/)
  await copyFile(join(made, 'classic-level.node'), join(bin, 'classic-level.node'))
  const beside = await useAgent(home, agent, { TMPDIR: '/tmp' })
  t.match(beside, { written: 200, read: 'tried', code: 0 }, beside.log)
})

t.test('the forms for arm64 run, on another machine by an emulator', async (t) => {
  const emulator = arch === 'arm64' ? [] : ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu']
  const [program = 'true'] = emulator
  if (!(await isHere(program))) {
    console.error(`The forms for arm64 were not run: this needs ${program}`)
    t.pass('no emulator')
    return
  }
  const home = join(folder, 'arm64')
  const forms = await makeRelease(join(home, 'dist'), ['package', 'executable'], 'arm64')
  const executable = [...emulator, join(forms, 'muster')]
  const told = { code: 0, out: `muster ${version}\n`, err: '' }
  t.same(await runIn(home, [...executable, 'version']), told)
  const used = await useAgent(join(home, 'data'), [...executable, 'agent', '-dev'])
  t.match(used, { written: 200, read: 'tried', code: 0 }, used.log)

  const unpacked = await runIn(home, ['tar', 'xf', join(forms, `muster-${version}.tgz`)])
  t.equal(unpacked.code, 0, unpacked.err)
  const lib = join(home, 'package/lib')
  const packaged = [...emulator, join(lib, 'node'), join(lib, 'start.cjs'), 'version']
  t.same(await runIn(home, packaged), told)
})

t.test('the Debian package holds what a machine needs', async (t) => {
  const [file = ''] = (await readdir(made)).filter((name) => name.endsWith('.deb'))
  const info = await runIn(made, ['dpkg-deb', '--field', file, 'Package', 'Version', 'Depends'])
  t.match(info.out, new RegExp(`Package: muster\\nVersion: ${version}\\nDepends: libc6`))
  const contents = await runIn(made, ['dpkg-deb', '--contents', file])
  for (const path of [
    'usr/lib/muster/muster',
    'usr/lib/muster/classic-level.node',
    'lib/systemd/system/muster.service',
    'lib/systemd/system/muster-client.service',
    'etc/muster.d/muster.hcl',
    'usr/share/bash-completion/completions/muster',
    'usr/share/man/man1/muster.1.gz',
  ]) {
    t.match(contents.out, new RegExp(`root/root .* \\./${path}\\n`))
  }
})

t.test('the Debian package installs, runs as its user and is purged', async (t) => {
  const refusal = await whyNotInstalled()
  if (refusal !== null) {
    // Said where it is seen: this machine does not prove it.
    console.error(`The Debian package was not installed: ${refusal}`)
    t.pass(refusal)
    return
  }
  const [file = ''] = (await readdir(made)).filter((name) => name.endsWith('.deb'))
  const home = join(folder, 'debian')
  await mkdir(home)
  t.teardown(() => runIn(home, ['dpkg', '--purge', 'muster']))
  const installed = await runIn(home, ['dpkg', '-i', join(made, file)])
  t.equal(installed.code, 0, installed.err)
  t.equal((await runIn('/', ['/usr/bin/muster', 'version'])).out, `muster ${version}\n`)
  const page = await runIn('/', ['zcat', '/usr/share/man/man1/muster.1.gz'])
  t.match(page.out, /\.SS "muster operator raft list-peers"\n/)
  await rm('/etc/muster.d/muster.hcl')
  const upgraded = await runIn(home, ['dpkg', '-i', join(made, file)])
  t.equal(upgraded.code, 0, upgraded.err)
  await t.rejects(
    access('/etc/muster.d/muster.hcl'),
    { code: 'ENOENT' },
    'what was removed stays so',
  )
  if (await isHere('systemd-analyze')) {
    for (const name of ['muster.service', 'muster-client.service']) {
      const unit = await runIn('/', ['systemd-analyze', 'verify', name])
      t.notMatch(unit.err, /muster[-a-z]*\.service/, `systemd knows every line of ${name}`)
    }
  } else {
    console.error('The unit was not verified: there is no systemd-analyze')
  }

  // What the unit does, by hand: systemd itself does not run everywhere.
  const [http, rpc, gossip, ops] = await freePorts(4)
  const key = '/var/lib/muster/test.key'
  await writeFile(key, Buffer.alloc(32, 7).toString('base64'))
  await chmod(key, 0o644)
  const config = {
    data_dir: '/var/lib/muster/data',
    bind_addr: '127.0.0.1',
    ports: { http, rpc, gossip, ops },
    server: { enabled: true, keyring_key_file: key },
  }
  await writeFile('/etc/muster.d/test.json', JSON.stringify(config))
  await chmod('/etc/muster.d/test.json', 0o644)
  const heard = '/var/lib/muster/heard'
  const notify = join(home, 'systemd-notify')
  await writeFile(notify, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> ${heard}\n`)
  await chmod(notify, 0o755)
  const text = await readFile('/lib/systemd/system/muster.service', 'utf8')
  const [, start = ''] = /^ExecStart=(.*)$/m.exec(text) ?? []
  const asUser = ['setpriv', '--reuid=muster', '--regid=muster', '--clear-groups', '--no-new-privs']
  const used = await useAgent('/var/lib/muster', [...asUser, ...start.split(' ')], {
    NOTIFY_SOCKET: '/run/test',
    PATH: `${home}:/usr/bin:/bin`,
    TMPDIR: '/tmp',
  })
  t.match(used, { written: 200, read: 'tried', code: 0 }, used.log)
  t.match(await readFile(heard, 'utf8'), /^\/run\/test --pid=\d+ READY=1\n.* STOPPING=1\n$/)

  const purged = await runIn(home, ['dpkg', '--purge', 'muster'])
  t.equal(purged.code, 0, purged.err)
  for (const path of ['/var/lib/muster', '/etc/muster.d', '/usr/bin/muster']) {
    await t.rejects(access(path), { code: 'ENOENT' })
  }
  t.not((await runIn('/', ['getent', 'passwd', 'muster'])).code, 0, 'the user is gone')
})

t.test('checksums and the software bill are of what was made', async (t) => {
  const dist = join(made, '..')
  const checked = await runIn(dist, ['sha256sum', '--check', '--strict', 'SHA256SUMS'])
  t.equal(checked.code, 0, checked.err)
  t.equal(
    checked.out.match(/: OK\n/g)?.length,
    5,
    'npm package, executable, binding, Debian package, bill',
  )
})

/** Runs its arguments with the folder $0 as /mnt, where whatever can be written is mounted with noexec. */
const withoutTemporaryFolders =
  'mount --bind "$0" /mnt && for d in /tmp /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec,mode=1777 tmpfs $d || exit 3; done && exec "$@"'

async function isHere(program: string): Promise<boolean> {
  return (await runIn('/', ['sh', '-c', `command -v ${program}`])).code === 0
}

/** Null where the test may install a package, and undo it without taking anything from anyone. */
async function whyNotInstalled(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'this needs root'
  for (const program of ['dpkg', 'setpriv']) {
    if (!(await isHere(program))) return `this needs ${program}`
  }
  for (const path of ['/etc/muster.d', '/var/lib/muster', '/usr/bin/muster']) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    )
    if (isThere) return `${path} is there already, and a purge would take it away`
  }
  return null
}
