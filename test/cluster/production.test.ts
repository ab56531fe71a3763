/**
 * `docs/production.md` as it is written: its files, and its commands in one shell. The machines are addresses of loopback
 * with a folder each; `ssh`, `scp` and `systemctl` are small programs that act on these.
 */
import { execFile, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { randomInteger, systemRandom } from '../../src/lib/random.ts'
import { guardProcesses } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { ownProgram } from '../support/server-process.ts'

const document = fileURLToPath(new URL('../../docs/production.md', import.meta.url))
const run = promisify(execFile)

/** What the page's machines have: paths of theirs are below a folder named by the address. */
const programs = {
  ssh: `host=\${1#root@}; shift
    HOST=$host exec sh -c "$(printf %s "$*" | sed "s,/etc/,$MACHINES/$host/etc/,g; s,/var/,$MACHINES/$host/var/,g")"`,
  scp: `set -e
    [ "$1" = -r ] && shift
    for last; do :; done
    at() { case $1 in root@*) host=\${1#root@}; printf %s "$MACHINES/\${host%%:*}\${host#*:}";; *) printf %s "$1";; esac; }
    target=$(at "$last")
    while [ $# -gt 1 ]; do cp -r $(at "$1") "$target"; shift; done
    case $last in root@*)
      host=\${last#root@}
      find "$target" -name '*.hcl' -exec sed -i "s,\\"/\\(etc\\|var\\)/,\\"$MACHINES/\${host%%:*}/\\1/,g" {} +;;
    esac`,
  systemctl: `folder=$MACHINES/$HOST
    [ "$1" = reload ] && exec kill -HUP "$(cat "$folder/pid")"
    [ "$1" = restart ] && { kill "$(cat "$folder/pid")"; while kill -0 "$(cat "$folder/pid")" 2>/dev/null; do sleep 0.05; done; }
    muster agent -config "$folder/etc/muster.d" >> "$folder/log" 2>&1 </dev/null &
    echo $! > "$folder/pid"; echo $! >> "$MACHINES/pids"`,
  apt: `exit 0`,
  chown: `exit 0`,
}

void t.test('the page on a production cluster works as it is written', async (t) => {
  const network = await freeNetwork()
  const folder = await mkdtemp(join(tmpdir(), 'muster-production-'))
  const bin = join(folder, 'bin')
  const machines = join(folder, 'machines')
  const operator = join(folder, 'operator')
  for (const path of [bin, machines, operator]) await mkdir(path)
  const pidFile = join(machines, 'pids')
  await writeFile(pidFile, '')
  guardProcesses(folder, pidFile)
  t.teardown(() => tellLogs(t, machines))
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(bin, name), 0o755)
  }
  await symlink(ownProgram, join(bin, 'muster'))
  for (const at of [1, 2, 3, 7]) await mkdir(join(machines, `${network}${at}`))

  const page = (await readFile(document, 'utf8')).replaceAll('10.0.0.', network)
  const blocks = [...page.matchAll(/^```(sh|hcl) ?(\S*)\n(.*?)^```$/gms)]
  t.ok(blocks.length > 8)
  const script: string[] = []
  for (const [, language, name = '', text = ''] of blocks) {
    if (language === 'hcl') await writeFile(join(operator, name), text)
    else script.push(text)
  }
  const env = { PATH: `${bin}:${process.env['PATH']}`, MACHINES: machines, HOME: operator }
  const { code, output } = await shell(operator, env, script.join('\n'))
  if (code !== 0) {
    t.fail(`the commands ended with ${code}`, { output })
    return
  }

  t.match(output, /^s[123] .* leader /m, 'muster status shows who leads')
  t.equal([...output.matchAll(/^s[123] .*\b(?:leader|follower)\b/gm)].length, 6, 'twice all three')
  t.match(output, /^web-1 /m)
  const kept = await readdir(operator)
  t.ok(kept.some((name) => /^muster-s1-.*\.snap$/.test(name)))
  t.notOk(kept.includes('machine.hcl'))
  const config = join(machines, `${network}1`, 'etc')
  t.equal(await found('find', [config, '-mindepth', '1', '-perm', '/077']), '', 'files are 0600')
  const management = (await readFile(join(operator, 'management.token'), 'utf8')).trim()
  t.equal(await found('grep', ['-rlF', management, machines]), '', 'the first token is nowhere')
  for (const [at, name] of [
    [1, 'server-1'],
    [2, 'server-2'],
    [3, 'server-3'],
    [7, 'client'],
  ] as const) {
    const renewed = await readFile(join(operator, 'muster-tls', name, 'cert.pem'))
    const { fingerprint256 } = new X509Certificate(renewed)
    await eventually(`${name} shows its renewed certificate`, async () =>
      (await shownBy(`${network}${at}`)) === fingerprint256 ? true : undefined,
    )
  }
})

/** The fingerprint of the certificate that an agent shows. */
async function shownBy(host: string): Promise<string> {
  // Which authority made it does not matter here.
  const socket = connectTls({ host, port: 4646, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().fingerprint256
  } finally {
    socket.destroy()
  }
}

/** What a program prints that fails where it finds nothing. */
async function found(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(program, args).catch((error: { stdout: string }) => error)
  return stdout
}

/** Loopback has 16 million addresses: three random numbers, and nobody listens there. */
async function freeNetwork(): Promise<string> {
  return eventually('a free network', async () => {
    const part = () => randomInteger(systemRandom, 1, 254)
    const network = `127.${part()}.${part()}.`
    const taken = await new Promise<boolean>((resolve) => {
      const socket = connect(4646, `${network}1`)
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => socket.destroy())
    })
    return taken ? undefined : network
  })
}

/** Stops at the first command that fails. */
async function shell(cwd: string, env: NodeJS.ProcessEnv, script: string) {
  const file = join(cwd, 'commands.sh')
  await writeFile(file, script)
  const child = spawn('bash', ['-euo', 'pipefail', '-x', file], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { code, output }
}

/** The guard ends what the page started, and removes it. */
async function tellLogs(t: Test, machines: string): Promise<void> {
  if (t.passing()) return
  const { stdout } = await run('sh', ['-c', `tail -n 40 ${machines}/*/log`])
  t.comment(stdout)
}
