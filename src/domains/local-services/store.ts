/** What an agent keeps of its services and checks over a restart: one file, replaced as a whole. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/schema'
import { writeDurably } from '../../lib/durable-file.ts'
import { MusterError } from '../../lib/errors.ts'
import { CheckStatus } from '../catalog/model.ts'
import { AgentService, CheckDefinition } from './definition.ts'

const fileName = 'agent-services.json'
const formatVersion = 3

const File = Type.Object({
  version: Type.Integer(),
  services: Type.Immutable(Type.Array(AgentService)),
  checks: Type.Immutable(
    Type.Array(
      Type.Object({
        definition: CheckDefinition,
        status: CheckStatus,
        output: Type.String(),
      }),
    ),
  ),
  /** Of checks that configuration files define; a program that does not know it loses no more than these. */
  definedStatuses: Type.Optional(
    Type.Immutable(
      Type.Array(Type.Object({ id: Type.String(), status: CheckStatus, output: Type.String() })),
    ),
  ),
})

export type KeptServices = Omit<Static<typeof File>, 'version'>

export class ServiceStore {
  readonly #path: string
  #turn: Promise<void> = Promise.resolve()

  constructor(dataFolder: string) {
    this.#path = join(dataFolder, fileName)
  }

  /** Empty when there is no file. Throws `corrupt` or `incompatible`, naming it. */
  async load(): Promise<KeptServices> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (text === null) return { services: [], checks: [] }
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw this.#corrupt('is not JSON', error)
    }
    if (!Compile(File).Check(value)) throw this.#corrupt('does not hold services and checks')
    if (value.version > formatVersion) {
      throw new MusterError(
        'incompatible',
        `${this.#path} is of format ${value.version}, written by a newer program; this one knows ${formatVersion}`,
      )
    }
    return value
  }

  /** Resolves once it is durable; one write at a time, in the order of the calls. */
  save(kept: KeptServices): Promise<void> {
    const text = `${JSON.stringify({ version: versionOf(kept), ...kept })}\n`
    const written = this.#turn.then(() => writeDurably(this.#path, text))
    this.#turn = written.catch(() => {})
    return written
  }

  #corrupt(what: string, cause?: unknown): MusterError {
    return new MusterError(
      'corrupt',
      `${this.#path} ${what}: restore it, or remove it and register this agent's services anew`,
      { cause },
    )
  }
}

/** The oldest program that can read it back: the first format has no maintenance, the second no looks inside of tasks. */
function versionOf({ checks }: KeptServices): number {
  const types = new Set(checks.map(({ definition }) => definition.probe.type))
  if (types.has('task')) return formatVersion
  return types.has('maintenance') ? 2 : 1
}
