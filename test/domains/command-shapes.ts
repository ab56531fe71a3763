/** What the arguments of commands look like: programs of one command version must know the same of each other's. */
import { createHash } from 'node:crypto'
import type { TSchema } from 'typebox'

/** `shape`: hash of the schema; what its `Refine`s check is not in it. */
export type CommandShape = { readonly since: number; readonly shape: string }

export type CommandShapes = {
  readonly commandVersion: number
  readonly commands: Readonly<Record<string, CommandShape>>
}

type Defined = { readonly args: TSchema; readonly since?: number }

export function shapesOf(
  commandVersion: number,
  definitions: Iterable<readonly [string, Defined]>,
): CommandShapes {
  const shapes = [...definitions].map(([type, { args, since = 1 }]) => {
    const shape = createHash('sha256').update(JSON.stringify(args)).digest('hex').slice(0, 16)
    return [type, { since, shape }] as const
  })
  const sorted = shapes.sort(([left], [right]) => (left < right ? -1 : 1))
  return { commandVersion, commands: Object.fromEntries(sorted) }
}

/** Why servers of the two programs, the earlier and the present one, could not read what the present one proposes. */
export function shapeProblems(before: CommandShapes, now: CommandShapes): readonly string[] {
  const known = before.commandVersion
  const isRaised = now.commandVersion > known
  const problems = Object.entries(now.commands).flatMap(([type, { since, shape }]) => {
    const earlier = before.commands[type]
    if (earlier === undefined) {
      if (since > known) return []
      return [
        `${type} is new, and programs of command version ${known} do not know it: raise commandVersion in src/fsm/codec.ts, and name that version in its \`since\``,
      ]
    }
    if (since < earlier.since) {
      return [
        `${type} is proposed since command version ${since}, not ${earlier.since} as before: programs of ${since} may not know it`,
      ]
    }
    if (shape === earlier.shape || isRaised) return []
    return [
      `the arguments of ${type} are others, and programs of command version ${known} may not read them: raise commandVersion in src/fsm/codec.ts, and propose what is new only where the cluster runs at it (\`since\`, or \`Reader.commandVersion\` in the method)`,
    ]
  })
  const gone = Object.keys(before.commands).filter((type) => now.commands[type] === undefined)
  return [
    ...problems,
    ...gone.map((type) => `${type} is gone, and logs hold it: keep its definition`),
  ]
}
