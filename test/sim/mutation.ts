/** Plants each mutant in a copy of the program and runs seeds there until one fails. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { mutants, type Mutant } from './mutants.ts'
import type { Corner } from './plan.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export type MutationOptions = {
  readonly first: number
  readonly last: number
  /** Mutants tried at the same time. */
  readonly jobs: number
  /** Only those whose name contains this. */
  readonly only: string | null
}

/** Prints one line for each mutant. True when every one was caught. */
export async function runMutants(options: MutationOptions): Promise<boolean> {
  const chosen = mutants.filter(({ name }) => options.only === null || name.includes(options.only))
  const waiting = [...chosen]
  let caught = 0
  const work = async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await tryMutant(mutant, options)
      if (verdict.caught) caught += 1
      console.log(
        `${verdict.caught ? 'caught' : 'MISSED'}: ${mutant.name}\n        ${verdict.text}`,
      )
    }
  }
  await Promise.all(Array.from({ length: options.jobs }, work))
  console.log(`${caught} of ${chosen.length} mutants were caught`)
  return caught === chosen.length
}

/** Null when the mutant no longer fits the source. */
export function plant(source: string, { find, replace }: Mutant): string | null {
  const parts = source.split(find)
  return parts.length === 2 ? parts.join(replace) : null
}

export async function tryMutant(
  mutant: Mutant,
  { first, last }: Pick<MutationOptions, 'first' | 'last'>,
): Promise<{ readonly caught: boolean; readonly text: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-mutant-'))
  try {
    for (const part of ['src', 'test', 'scripts', 'proto']) {
      await cp(path.join(root, part), path.join(folder, part), { recursive: true })
    }
    await cp(path.join(root, 'package.json'), path.join(folder, 'package.json'))
    await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
    const file = path.join(folder, mutant.file)
    const planted = plant(await readFile(file, 'utf8'), mutant)
    if (planted === null) {
      return {
        caught: false,
        text: `its text does not occur exactly once in ${mutant.file} any more`,
      }
    }
    await writeFile(file, planted)
    const output = await sweep(folder, `${first}..${last}`, mutant.corner)
    const failure = /^seed (\d+) breaks the rule: (.*)$/m.exec(output)
    if (failure !== null) return { caught: true, text: `seed ${failure[1]}: ${failure[2]}` }
    return { caught: false, text: output.trim().split('\n').slice(-3).join(' | ') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function sweep(folder: string, seeds: string, corner: Corner | undefined): Promise<string> {
  const args = ['scripts/sim.ts', '--seeds', seeds, '--jobs', '1']
  if (corner !== undefined) args.push('--corner', corner)
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, maxBuffer: 1 << 24, env: { ...process.env, NODE_OPTIONS: '' } },
      (_error, stdout, stderr) => resolve(stdout.includes('runs in') ? stdout : stdout + stderr),
    )
  })
}
