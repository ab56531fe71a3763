/**
 * `npm test`: the one gate, the same on every machine. All static steps run, then, if they passed, the tests.
 * The last line is `N passed, N failed`: each static step counts as one, each test by its assertions.
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compileCache, steps, type Step } from './check/steps.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Most have one busy thread, and two of them fit the memory of a small machine. */
const STATIC_STEPS_AT_ONCE = 2

const names = steps.map((step) => step.name).join(', ')

let passed = 0
let failed = 0

const chosen = chooseSteps()
if (chosen === null) {
  process.exitCode = 2
} else {
  // It would keep what every earlier version of the sources compiled to.
  await rm(compileCache(root), { recursive: true, force: true })
  await runAll(
    chosen.filter((step) => step.kind === 'static'),
    STATIC_STEPS_AT_ONCE,
  )
  const tests = chosen.filter((step) => step.kind === 'test')
  if (failed === 0) {
    for (const test of tests) {
      await runAll([test])
      if (failed > 0) break
    }
  } else if (tests.length > 0) {
    console.log('the tests did not run: mend the steps above first')
  }
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0) process.exitCode = 1
}

/** So many at once; each prints its line when it ends. */
async function runAll(toRun: readonly Step[], atOnce = 1): Promise<void> {
  const waiting = toRun.values()
  const lane = async (): Promise<void> => {
    for (const step of waiting) await runOne(step)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

async function runOne(step: Step): Promise<void> {
  const startMs = performance.now()
  const { counts, text, failures = [] } = await step.run(root)
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  const good = counts.failed === 0
  passed += counts.passed
  failed += counts.failed
  const figures = step.kind === 'test' ? `  ${counts.passed} passed, ${counts.failed} failed` : ''
  if (!good) console.log(text.trimEnd())
  console.log(
    `${good ? 'ok    ' : 'FAILED'} ${step.name.padEnd(8)} ${seconds.padStart(6)} s${figures}`,
  )
  for (const failure of failures) console.log(`FAILED ${step.name}: ${failure}`)
}

/** The steps of `--only`, repeatable or with commas; null after a complaint. */
function chooseSteps(): readonly Step[] | null {
  try {
    const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
    const wanted = (values.only ?? []).flatMap((text) => text.split(','))
    const unknown = wanted.find((name) => !steps.some((step) => step.name === name))
    if (unknown === undefined) {
      return wanted.length === 0 ? steps : steps.filter((step) => wanted.includes(step.name))
    }
    console.error(`there is no step ${JSON.stringify(unknown)}; there are ${names}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(`Usage: npm test -- [--only ${names}]`)
  }
  return null
}
