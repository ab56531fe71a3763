/**
 * The next version of the program, for clusters that run two: these sources with a higher command version, and one command that
 * is as new as that.
 */
import { chmod, cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commandVersion } from '../../src/fsm/codec.ts'

const root = new URL('../../', import.meta.url).pathname

/** The command that the newer program has changed: older ones would not understand it. */
export const newerCommand = 'sessions.create'
export const newerCommandVersion = commandVersion + 1

/** Makes it in `folder`, which has to be empty. Returns what to start. */
export async function newerProgram(folder: string): Promise<string> {
  for (const name of ['bin', 'proto', 'src', 'package.json']) {
    await cp(join(root, name), join(folder, name), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await edit(
    join(folder, 'src/fsm/codec.ts'),
    `export const commandVersion = ${commandVersion}\n`,
    `export const commandVersion = ${newerCommandVersion}\n`,
  )
  const command = `  type: '${newerCommand}',\n`
  await edit(
    join(folder, 'src/domains/sessions/commands.ts'),
    command,
    `${command}  since: ${newerCommandVersion},\n`,
  )
  const program = join(folder, 'bin/muster')
  await chmod(program, 0o755)
  return program
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  if (text.split(from).length !== 2) throw new Error(`${path} does not have one ${from.trim()}`)
  await writeFile(path, text.replace(from, to))
}
