/** How a launcher runs the bundle: what the program does not catch is shown with the names of source files. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'

const launcher = new URL('../../../scripts/release/launch/program.ts', import.meta.url).href

/** Runs `code` as the bundle `/x/muster.cjs`, whose positions are named as those of `src/named.ts`. */
async function run(code: string) {
  const script = `
    import { createRequire } from 'node:module'
    import { runProgram } from ${JSON.stringify(launcher)}
    runProgram(
      {
        file: '/x/muster.cjs',
        code: ${JSON.stringify(code)},
        cache: undefined,
        loadBinding: (folders) => folders.join(),
        nameSources: (trace) => trace.replaceAll('/x/muster.cjs', 'src/named.ts'),
      },
      createRequire('/'),
    )`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [errors, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { errors, status: Number(status) }
}

for (const [what, code] of [
  ['an exception while the bundle is loaded', `\n\nthrow new TypeError('a defect')`],
  ['a later one', `\n\nsetTimeout(() => { throw new TypeError('a defect') })`],
  ['a rejection without a handler', `\n\nvoid Promise.reject(new TypeError('a defect'))`],
] as const) {
  void t.test(`${what} is shown with the names of source files`, async (t) => {
    const { errors, status } = await run(code)
    t.equal(status, 1)
    t.match(errors, /TypeError: a defect\n +at .*src\/named\.ts:3:/)
    t.notMatch(errors, 'muster.cjs')
  })
}

void t.test('what the program takes itself is not shown', async (t) => {
  const { errors, status } = await run(
    `process.on('uncaughtException', () => process.exit(5)); throw new TypeError('a defect')`,
  )
  t.equal(status, 5)
  t.notMatch(errors, 'a defect')
})

void t.test('the binding is asked for with the folders that the program has claimed', async (t) => {
  const { status } = await run(
    `dataFolders.push('/data'); process.exit(loadBinding() === '/data' ? 7 : 1)`,
  )
  t.equal(status, 7)
})
