/** How long a program takes to start: a command to its end, and an agent until it listens and until it leads. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { medianOf } from './plan.ts'

/** The first one fills the caches of the system. */
const rounds = 5
const readyMsMax = 60_000

type Start = { readonly listeningMs: number; readonly leadingMs: number }

export async function startTable(program: string): Promise<string> {
  const versions: number[] = []
  const starts: Start[] = []
  for (let round = 0; round < rounds; round += 1) {
    versions.push(await commandMs(program))
    starts.push(await startAgent(program))
  }
  const row = (what: string, times: readonly number[]) => {
    const [median, worst] = [medianOf(times), Math.max(...times)]
    return `${what.padEnd(32)} ${median.toFixed(0).padStart(6)} ${worst.toFixed(0).padStart(6)}`
  }
  return [
    `${'ms from exec'.padEnd(32)} median  worst`,
    row('muster version', versions),
    row(
      'muster agent -dev, listening',
      starts.map(({ listeningMs }) => listeningMs),
    ),
    row(
      'muster agent -dev, leads',
      starts.map(({ leadingMs }) => leadingMs),
    ),
  ].join('\n')
}

async function commandMs(program: string): Promise<number> {
  const fromMs = performance.now()
  const [code] = (await once(spawn(program, ['version'], { stdio: 'ignore' }), 'exit')) as [number]
  if (code !== 0) throw new Error(`${program} version ended with ${code}`)
  return performance.now() - fromMs
}

async function startAgent(program: string): Promise<Start> {
  const fromMs = performance.now()
  const agent = spawn(program, ['agent', '-dev'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(agent, 'exit')
  let output = ''
  let listeningMs = 0
  const limit = setTimeout(() => agent.kill('SIGKILL'), readyMsMax)
  try {
    for await (const text of agent.stdout.setEncoding('utf8') as AsyncIterable<string>) {
      output += text
      const atMs = performance.now() - fromMs
      if (listeningMs === 0 && / started: http=/.test(output)) listeningMs = atMs
      // Its duties begin; it takes writes a moment before.
      if (listeningMs > 0 && output.includes('this server leads')) {
        return { listeningMs, leadingMs: atMs }
      }
    }
    throw new Error(`the agent did not start:\n${output}`)
  } finally {
    clearTimeout(limit)
    agent.kill('SIGTERM')
    await exited
  }
}
