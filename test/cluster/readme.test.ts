/**
 * The README's first steps, line by line as printed, in a shell beside the cluster that `npm start` runs. Only the ports are
 * others, so that both a person's cluster and this one may run.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { planAgents } from '../../scripts/start/options.ts'
import { takenPorts } from '../../scripts/start/ports.ts'
import { within } from '../../src/lib/async.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomInteger, systemRandom } from '../../src/lib/random.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { HttpClient } from '../support/http-client.ts'
import { ownProgram } from '../support/server-process.ts'
import { writtenFolder } from '../support/written-folder.ts'

const printedPort = 4646
/** Above the ports of most tests that run beside this one, and with the highest listener below those of outgoing connections. */
const basePorts = { min: 20_000, max: 26_000 }
const attemptsMax = 3
/** Five processes, on a busy machine and without a cache of what they compile; `npm start` itself gives up sooner. */
const startMsMax = 150_000
/** Of one line; a drain and a fail-over are among them. */
const lineMsMax = 150_000
const saysAllIsUp = 'Ctrl-C stops all'

const rootFile = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
// No proxy of the person who runs this.
const env = { PATH: process.env['PATH'] }

/** What a line with these words prints. */
// oxfmt-ignore
const promises: readonly (readonly [words: string, prints: RegExp])[] = [
  [`db -d '{"Items"`,          /"user":"ada"/],
  ['db?pretty',                /^ {8}"user": "ada",$/m],
  ['cas=0',                    /"user":"ada"/],
  ['wait=60s',                 /"app\/woken"/],
  ['acquire=$session',         /^true$/],
  ['lock_index=$held',         /^true$/],
  ['release=$session',         /^true$/],
  ['muster lock',              /^this runs on one machine at a time$/m],
  ['event/stream',             /"Topic":"KV".*"Key":"app\/seen"/],
  ['muster job run',           /placed: node "c\d"/],
  ['muster job status',        /^\S+ +\S+ +clock +\d+ +run +/m],
  ['muster node drain',        /drain complete/],
  ['muster job stop',          /hello/],
  ['/v1/status/leader',        /^"127\.0\.0\.1:\d+"$/],
  ['kill -9',                  /^$/],
  ['muster var put',           /^Wrote variable "app\/db"/],
  ['muster status',            /^Leader +=/m],
]

void t.test('every line of the README does what it promises', async (t) => {
  const blocks = commandBlocks(await readFile(rootFile('README.md'), 'utf8'))
  await theCommandsExist(t, blocks[0] ?? [])
  const folder = writtenFolder(t, { bin: {} })
  await symlink(ownProgram, join(folder, 'bin', 'muster'))
  await symlink(rootFile('docs'), join(folder, 'docs'))
  const { base, tips } = await npmStart(t, folder)
  const here = new Here(t, folder, base)
  for (const tip of tips) await here.run(tip)

  const unmet = new Set(promises)
  let before = ''
  for (const line of blocks.slice(1).flat()) {
    const [, assigned] = /^(\w+)=/.exec(line) ?? []
    const printed = await here.run(line)
    if (assigned !== undefined) {
      t.match(await here.run(`echo "$${assigned}"`), /^[\w-]+$/, `${assigned} has a value`)
      if (assigned === 'leader') before = await here.run('echo "$leader"')
      continue
    }
    const promise = promises.find(([words]) => line.includes(words))
    if (promise !== undefined) {
      unmet.delete(promise)
      t.match(printed, promise[1], line)
    }
  }
  t.same(
    [...unmet].map(([words]) => words),
    [],
    'the README still has all these lines',
  )
  const [, after] = /^Leader += (s\d) /m.exec(await here.run('bin/muster status')) ?? []
  t.match([before, after], [/^s\d$/, /^s\d$/])
  t.not(after, before, 'another server leads after the leader was killed')
})

function commandBlocks(text: string): readonly (readonly string[])[] {
  const found = [...text.matchAll(/^```sh\n(.*?)^```$/gms)]
  return found.map(([, lines = '']) => lines.trimEnd().split('\n'))
}

/** `npm start` and `npm test` are the two that a test does not run as they are. */
async function theCommandsExist(t: Test, lines: readonly string[]): Promise<void> {
  const { scripts } = JSON.parse(await readFile(rootFile('package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const names = lines.map((line) => /^npm (\w+) /.exec(line)?.[1] ?? line)
  t.same(names, ['start', 'test'])
  t.match(scripts['start'], / scripts\/start\.sh$/)
  t.match(await readFile(rootFile('scripts/start.sh'), 'utf8'), / scripts\/start\.ts "\$@"$/m)
  t.match(scripts['test'], / scripts\/check\.ts$/)
}

type Cluster = { readonly base: number; readonly tips: readonly string[] }

/** Begins with other ports when somebody took one of them between the look and the start. */
async function npmStart(t: Test, cwd: string): Promise<Cluster> {
  for (let attempt = 1; ; attempt += 1) {
    const base = await freeBase(cwd)
    const output = await startedAt(t, cwd, base)
    if (output.includes(saysAllIsUp)) {
      const tips = [...output.matchAll(/^ {2}(curl .*)$/gm)].map(([, line = '']) => line)
      return { base, tips }
    }
    if (!output.includes('Ports are taken') || attempt === attemptsMax) {
      throw new Error(`npm start has no cluster:\n${output}`)
    }
  }
}

async function freeBase(dataDir: string): Promise<number> {
  return eventually('all ports of a cluster are free', async () => {
    const basePort = randomInteger(systemRandom, basePorts.min, basePorts.max)
    const plans = planAgents({ servers: 3, clients: 2, dataDir, basePort, configFiles: [] })
    return (await takenPorts(plans)).length === 0 ? basePort : undefined
  })
}

/** Resolves to what it printed until all was up, or until it ended. */
async function startedAt(t: Test, cwd: string, base: number): Promise<string> {
  const args = [rootFile('scripts/start.ts'), '--base-port', String(base), '--clients', '2']
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = textOf(child)
  t.teardown(async () => {
    await end(child, 'SIGTERM')
    if (!t.passing()) t.comment(output())
  })
  let closed = false
  child.once('close', () => (closed = true))
  const settled = () => closed || output().includes(saysAllIsUp)
  await eventuallyTrue('npm start is up or ended', settled, { timeoutMs: startMsMax })
  return output()
}

/** Where a person types the lines: one shell, in the project's folder. */
class Here {
  readonly #t: Test
  readonly #folder: string
  readonly #base: number
  readonly #http: HttpClient
  readonly #shell: ChildProcess
  readonly #codes: AsyncIterator<string>
  #count = 0

  constructor(t: Test, folder: string, base: number) {
    this.#t = t
    this.#folder = folder
    this.#base = base
    this.#http = new HttpClient(base)
    const shell = spawn('sh', [], {
      cwd: folder,
      env: { ...env, MUSTER_ADDR: `http://127.0.0.1:${base}` },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#shell = shell
    this.#codes = createInterface({ input: shell.stdout })[Symbol.asyncIterator]()
    // Each answer's status, where no line looks for it.
    shell.stdin.write(
      `curl() { command curl --silent --show-error --write-out '%{stderr}HTTP %{http_code}\\n' "$@"; }\n`,
    )
    t.teardown(() => {
      this.#http.close()
      return end(shell, 'SIGKILL')
    })
  }

  /** Resolves to what the line printed. */
  async run(printed: string): Promise<string> {
    const line = printed.replaceAll(
      /(?<=127\.0\.0\.1:)\d+/g,
      (port) => `${Number(port) - (Number(port) < 20_000 ? printedPort - this.#base : 0)}`,
    )
    if (line.includes('curl -N')) return this.#follow(line)
    if (!line.includes('wait=60s')) return this.#type(line)
    const [out] = await Promise.all([this.#type(line), this.#put('/v1/var/app/woken')])
    return out
  }

  async #type(line: string): Promise<string> {
    this.#count += 1
    const [out, err] = ['out', 'err'].map((name) => join(this.#folder, `${name}.${this.#count}`))
    this.#shell.stdin?.write(`{ ${line}\n} </dev/null >'${out}' 2>'${err}'; echo $?\n`)
    const code = await this.#codeOf(line, async () =>
      (await Promise.all([out, err].map((file) => readFile(file ?? '', 'utf8')))).join(''),
    )
    const told = await readFile(err ?? '', 'utf8')
    const wanted = / # (\d{3})$/.exec(line)?.[1] ?? '200'
    const statuses = [...told.matchAll(/^HTTP (\d+)$/gm)].map(([, status]) => status)
    this.#t.same([code, ...statuses], ['0', ...statuses.map(() => wanted)], `${line}\n${told}`)
    return (await readFile(out ?? '', 'utf8')).trim()
  }

  /** What did not end says so, with what it printed: the shell is stuck then, and the lines after it would wait as well. */
  async #codeOf(line: string, printed: () => Promise<string>): Promise<unknown> {
    const ended = await within(this.#codes.next(), systemClock, lineMsMax)
    if (ended !== null) return ended.value
    throw new Error(
      `${line}\ndid not end within ${lineMsMax / 1000} s and printed:\n${await printed()}`,
    )
  }

  /** A stream, which a person ends with Ctrl-C. */
  async #follow(line: string): Promise<string> {
    const child = spawn('sh', ['-c', `exec ${line}`], {
      cwd: this.#folder,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const output = textOf(child)
    try {
      return await eventually(line, async () => {
        await this.#put('/v1/kv/app/seen')
        return output().includes('app/seen') ? output() : undefined
      })
    } finally {
      await end(child, 'SIGINT')
    }
  }

  async #put(path: string): Promise<void> {
    this.#count += 1
    const body = `{"Items": {"count": "${this.#count}"}}`
    this.#t.equal((await this.#http.request('PUT', path, { body })).status, 200)
  }
}

function textOf(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (more: string) => (text += more))
  }
  return () => text
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}
