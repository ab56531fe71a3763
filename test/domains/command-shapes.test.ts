/**
 * Programs of one command version know the same commands with the same arguments: what each looks like is in
 * `command-shapes.json`, for the newest version. Where one changes, the version is raised.
 *
 * TAP_SNAPSHOT=1 writes the file anew, once the version is raised. Where a new release of the library of schemas only writes them otherwise,
 * the file is removed before.
 */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { Type, type TSchema } from 'typebox'
import { domains } from '../../src/domains/registry.ts'
import { versionCommands } from '../../src/fsm/cluster-version.ts'
import { commandVersion } from '../../src/fsm/codec.ts'
import { Reactions } from '../../src/fsm/reactions.ts'
import { restoreCommands } from '../../src/fsm/restore.ts'
import { shapeProblems, shapesOf, type CommandShapes } from './command-shapes.ts'

const file = new URL('command-shapes.json', import.meta.url)

t.test('commands are as all programs of their version know them', async (t) => {
  const now = shapesOf(commandVersion, [
    ...domains.flatMap(({ commands }) => Object.entries(commands)),
    ...Object.entries(restoreCommands),
    ...Object.entries(versionCommands(commandVersion)),
    ...Object.entries(new Reactions(domains).commands),
  ])
  const writes = process.env['TAP_SNAPSHOT'] === '1'
  const before = await kept()
  const problems = before === null ? [] : shapeProblems(before, now)
  t.same(problems, [], problems.join('\n'))
  if (writes && problems.length === 0) {
    await writeFile(file, `${JSON.stringify(now, null, 2)}\n`)
    return
  }
  t.same(before, now, 'TAP_SNAPSHOT=1 writes command-shapes.json anew')
})

t.test('a change within a version is found', async (t) => {
  const old = Type.Object({ id: Type.String() })
  const changed = Type.Object({ id: Type.String(), more: Type.Optional(Type.String()) })
  const at = (version: number, ...commands: [string, TSchema, number?][]) =>
    shapesOf(
      version,
      commands.map(([type, args, since = 1]) => [type, { args, since }] as const),
    )
  const before = at(3, ['a', old], ['b', old, 2])
  t.same(shapeProblems(before, before), [])
  t.same(shapeProblems(before, at(4, ['a', changed], ['b', old, 4], ['c', old, 4])), [])
  t.match(shapeProblems(before, at(3, ['a', changed], ['b', old, 2])), [
    /^the arguments of a are others.*version 3 .*raise commandVersion/,
  ])
  t.match(shapeProblems(before, at(4, ['a', old], ['b', old], ['c', old, 3])), [
    /^b is proposed since command version 1, not 2/,
    /^c is new.*raise commandVersion/,
  ])
  t.match(shapeProblems(before, at(4, ['a', old])), [/^b is gone/])
})

async function kept(): Promise<CommandShapes | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as CommandShapes
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
