/**
 * `npm run chaos -- --minutes 10 --seed 7 --servers 3`: breaks a cluster while clients use it, and judges what
 * they saw. `--faults "kill all,ring"` takes only some. Ends with 1 if anything did not hold.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { faultNames, type FaultName } from '../test/chaos/nemesis.ts'
import { runChaos } from '../test/chaos/run.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    servers: { type: 'string', default: '3' },
    faults: { type: 'string' },
  },
})

const minutes = numberOf('minutes', values.minutes)
const seed = values.seed === undefined ? Date.now() % 1_000_000 : numberOf('seed', values.seed)
const servers = numberOf('servers', values.servers)
const faults = values.faults === undefined ? faultNames : values.faults.split(',').map(faultOf)

console.log(`chaos: seed ${seed}, ${servers} servers, ${minutes} minutes`)
const report = await runChaos({
  durationMs: minutes * 60_000,
  seed,
  servers,
  faults,
  onProgress: (text) => console.log(text),
})

console.log('\nfaults')
for (const [name, count] of Object.entries(report.faults)) console.log(`  ${count} x ${name}`)
console.log('operations')
for (const [name, count] of Object.entries(report.outcomes)) console.log(`  ${count} x ${name}`)
console.log(`${report.operationsPerSecond.toFixed(0)} operations a second, seed ${seed}`)

if (report.failures.length === 0) {
  console.log('linearizable, no acknowledged write lost, replicas equal')
} else {
  await mkdir('.muster', { recursive: true })
  const file = `.muster/chaos-${seed}.json`
  await writeFile(file, JSON.stringify({ ...report, logs: report.logs.split('\n') }, null, 1))
  for (const failure of report.failures) console.error(`\nFAILED: ${failure}`)
  console.error(`\nhistory and logs in ${file}; chaos seed ${seed}`)
  process.exitCode = 1
}

function numberOf(name: string, text: string): number {
  const value = Number(text)
  if (text !== '' && Number.isFinite(value) && value >= 0) return value
  console.error(`--${name} ${text} is not a number, 0 or more`)
  return process.exit(2)
}

function faultOf(text: string): FaultName {
  const found = faultNames.find((name) => name === text.trim())
  if (found !== undefined) return found
  console.error(`--faults: ${text} is none of: ${faultNames.join(', ')}`)
  return process.exit(2)
}
