/**
 * `npm test`, the gate, the same on every machine: all static steps run, then, if they passed, the tests. `npm run test:long`
 * runs the tests that take long or draw new seeds. The last line is `N passed, N failed`: each static step counts as one, each
 * test by its assertions.
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Suite } from './check/files.ts'
import {
  compileCache,
  runTests,
  staticSteps,
  testRounds,
  type StaticStep,
  type StepResult,
} from './check/steps.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Most have one busy thread, and two of them fit the memory of a small machine. */
const STATIC_STEPS_AT_ONCE = 2

const names = [...staticSteps.map(({ name }) => name), ...testRounds.flat()]

type Choice = { readonly suite: Suite; readonly only: readonly string[] }

let passed = 0
let failed = 0

const choice = chosen()
if (choice === null) process.exitCode = 2
else await run(choice)

async function run({ suite, only }: Choice): Promise<void> {
  const wanted = (name: string): boolean => only.length === 0 || only.includes(name)
  // It would keep what every earlier version of the sources compiled to.
  if (suite === 'gate') await rm(compileCache(root), { recursive: true, force: true })
  const checks = suite === 'gate' ? staticSteps.filter(({ name }) => wanted(name)) : []
  await runChecks(checks)
  const rounds = testRounds.map((kinds) => kinds.filter(wanted)).filter((kinds) => kinds.length > 0)
  if (failed > 0 && rounds.length > 0) {
    console.log('the tests did not run: mend the steps above first')
  }
  for (const kinds of rounds) {
    if (failed > 0) break
    const results = await runTests(root, suite, kinds)
    for (const [name, result] of results) tell(name, result)
  }
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0) process.exitCode = 1
}

/** Some at once; each prints its line when it ends. */
async function runChecks(steps: readonly StaticStep[]): Promise<void> {
  const waiting = steps.values()
  const lane = async (): Promise<void> => {
    for (const { name, run } of waiting) tell(name, await run(root))
  }
  await Promise.all(Array.from({ length: STATIC_STEPS_AT_ONCE }, lane))
}

function tell(name: string, result: StepResult): void {
  const { counts, text, seconds, failures } = result
  const good = counts.failed === 0
  passed += counts.passed
  failed += counts.failed
  if (!good) console.log(text.trimEnd())
  const figures = failures === undefined ? '' : `  ${counts.passed} passed, ${counts.failed} failed`
  const time = seconds.toFixed(1).padStart(6)
  console.log(`${good ? 'ok    ' : 'FAILED'} ${name.padEnd(13)} ${time} s${figures}`)
  for (const failure of failures ?? []) console.log(`FAILED ${name}: ${failure}`)
}

/** `--long` and the steps of `--only`, repeatable or with commas; null after a complaint. */
function chosen(): Choice | null {
  try {
    const { values } = parseArgs({
      options: { only: { type: 'string', multiple: true }, long: { type: 'boolean' } },
    })
    const only = (values.only ?? []).flatMap((text) => text.split(','))
    const unknown = only.find((name) => !names.some((known) => name === known))
    if (unknown === undefined) return { suite: values.long === true ? 'long' : 'gate', only }
    console.error(`there is no step ${JSON.stringify(unknown)}; there are ${names.join(', ')}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(`Usage: npm test -- [--long] [--only ${names.join(', ')}]`)
  }
  return null
}
