/**
 * The artifacts of a task: got once, before it starts first, and again only where that failed. What is got is noted beside the task, so
 * neither its restarts nor those of the agent get it anew.
 */
import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import {
  planOfArtifact,
  type ArtifactPlan,
  type Packing,
} from '../../../domains/jobs/artifact-model.ts'
import type { Artifact } from '../../../domains/jobs/task-model.ts'
import { deadlineOf, nothing } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../../../lib/errors.ts'
import { interpolated, type Variables } from '../environment.ts'
import { placeOfTask, variablesOnMachine, type SetupOf } from '../setup-of.ts'
import type { TaskPlace } from '../task-files.ts'
import { Destination } from './destination.ts'
import { answerOf, openOwn, receive } from './download.ts'
import { Room, type ArtifactSettings } from './limits.ts'
import { unpackTar } from './tar.ts'
import { unpackZip } from './zip.ts'

const { O_RDWR, O_CREAT, O_EXCL, O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
const doneName = 'artifacts'
/** Of a file that comes without a mode: programs are got too. */
const fileMode = 0o755

export class ArtifactFailure extends Error {
  readonly canRetry: boolean

  constructor(text: string, canRetry: boolean) {
    super(text)
    this.canRetry = canRetry
  }
}

export type GetOptions = {
  readonly settings: ArtifactSettings
  /** It begins. */
  readonly tell: () => void
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Rejects with `ArtifactFailure`. */
export async function getArtifacts(
  setup: SetupOf,
  { settings, tell, signal, clock }: GetOptions,
): Promise<void> {
  const { task, folder } = setup
  if (task.Artifacts.length === 0) return
  const done = join(folder.of(task.Name).run, doneName)
  const mark = createHash('sha256').update(JSON.stringify(task.Artifacts)).digest('hex')
  if ((await readFile(done, 'utf8').catch(() => '')) === mark) return
  tell()
  for (const artifact of task.Artifacts) {
    const deadline = deadlineOf(clock, settings.msMax, signal)
    try {
      await getOne(setup, artifact, settings, deadline.signal)
    } catch (error) {
      const why = deadline.isLate ? `it took longer than ${settings.msMax / 1_000}s` : textOf(error)
      const canRetry = !['invalid_argument', 'permission_denied'].includes(codeOf(error))
      throw new ArtifactFailure(`failed to get ${shownSource(artifact)}: ${why}`, canRetry)
    } finally {
      deadline.cancel()
    }
  }
  await writeFile(done, mark, { mode: 0o600 })
}

/** Without what may be secret. */
function shownSource({ GetterSource }: Artifact): string {
  return JSON.stringify(GetterSource.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//'))
}

async function getOne(
  setup: SetupOf,
  artifact: Artifact,
  settings: ArtifactSettings,
  signal: AbortSignal,
): Promise<void> {
  const variables = variablesOnMachine(setup)
  const folders = setup.folder.of(setup.task.Name)
  const { GetterMode, GetterHeaders, GetterInsecure = false } = artifact
  const verifies = !GetterInsecure
  const plan = planOfArtifact({
    GetterMode,
    GetterSource: interpolated(artifact.GetterSource, variables),
    GetterOptions: all(artifact.GetterOptions, variables),
  })
  const place = placeOfTask(setup, artifact.RelativeDest, 'its destination')
  const to = { place, isFile: GetterMode === 'file', room: new Room(settings), signal }
  const isOwn = plan.source.protocol === 'file:'
  await using own = isOwn ? await openOwn(plan.source, settings.fileFolders) : null
  if (own?.stats.isDirectory() === true) {
    if (to.isFile) throw new MusterError('invalid_argument', 'it is a folder')
    await copyFolder(own.path, new Destination(place, to.room, signal))
    return
  }
  const temporary = join(folders.run, `artifact-${randomUUID()}`)
  await using file = await open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  // Nothing of it is left, however this ends.
  await rm(temporary)
  const chunks =
    own === null
      ? await answerOf(plan.source, all(GetterHeaders, variables), { verifies, signal })
      : own.file.createReadStream({ autoClose: false })
  await receive(file, chunks, { ...plan, ...settings, signal })
  await unpack(file, plan, to)
}

type Target = {
  readonly place: TaskPlace
  /** The place is that of a file, not of a folder. */
  readonly isFile: boolean
  readonly room: Room
  readonly signal: AbortSignal
}

async function unpack(
  file: FileHandle,
  { packing, fileName }: ArtifactPlan,
  { place, isFile, room, signal }: Target,
): Promise<void> {
  const folder = isFile ? { ...place, parts: place.parts.slice(0, -1) } : place
  const destination = new Destination(folder, room, signal)
  if (packing?.archive === 'zip') {
    await unpackZip(file, destination)
    return
  }
  const bytes = room.bounded(decompressed(file, packing))
  if (packing?.archive === 'tar') {
    await unpackTar(bytes, destination)
    return
  }
  const name = packing === null ? fileName : fileName.replace(/\.[^.]*$/, '')
  await destination.file(isFile ? (place.parts.at(-1) ?? '') : name, fileMode, bytes)
}

function decompressed(file: FileHandle, packing: Packing | null): AsyncIterable<Buffer> {
  const bytes = file.createReadStream({ start: 0, autoClose: false })
  // An error of one ends the other, and whoever reads is told.
  switch (packing?.compression) {
    case 'gzip':
      return pipeline(bytes, createGunzip(), nothing)
    case 'zstd':
      return pipeline(bytes, createZstdDecompress(), nothing)
    default:
      return bytes
  }
}

/** Files and folders of this machine; a link among them is refused. */
async function copyFolder(path: string, to: Destination): Promise<void> {
  const copyAll = async (folder: FileHandle, way: string): Promise<void> => {
    const here = `/proc/self/fd/${folder.fd}`
    for (const name of await readdir(here)) {
      const below = `${way}${name}`
      await using file = await open(join(here, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      const stats = await file.stat()
      if (stats.isDirectory()) {
        await to.folder(below)
        await copyAll(file, `${below}/`)
      } else if (stats.isFile()) {
        await to.file(below, stats.mode, file.createReadStream({ autoClose: false }))
      } else throw new MusterError('invalid_argument', `${below} is no file and no folder`)
    }
  }
  await using folder = await open(path, O_RDONLY | O_NOFOLLOW)
  await copyAll(folder, '')
}

function all(
  texts: Readonly<Record<string, string>>,
  variables: Variables,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [name, interpolated(value, variables)]),
  )
}
