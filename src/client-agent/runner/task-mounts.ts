/** The volumes of a task: folders of the machine that the agent's configuration names, and where the task finds them. */
import { MusterError } from '../../lib/errors.ts'
import { foldersInRoot, type Mount } from '../drivers/driver.ts'
import type { SetupOf } from './setup-of.ts'

/** The root, and the folders of the allocation. */
const taken: ReadonlySet<string> = new Set(['', ...Object.values(foldersInRoot)])

/** Throws `invalid_argument` for a mount that cannot be made, `not_found` for a volume that the agent has not any more. */
export function mountsOf({ assigned: { group }, task, facts, driver }: SetupOf): readonly Mount[] {
  if (driver?.mountsVolumes !== true) return []
  return task.VolumeMounts.map(({ Volume, Destination, ReadOnly, PropagationMode }) => {
    const volume = group.Volumes[Volume]
    const source = volume?.Source ?? ''
    const found = facts.spec.hostVolumes.find(({ name }) => name === source)
    if (volume === undefined || found === undefined) {
      throw new MusterError('not_found', `this agent has no host volume ${JSON.stringify(source)}`)
    }
    if (PropagationMode !== '' && PropagationMode !== 'private') {
      const text = `mounts are private: ${Volume} may not have the mode ${PropagationMode}`
      throw new MusterError('not_implemented', text)
    }
    const readOnly = ReadOnly || volume.ReadOnly || found.readOnly
    return { source: found.path, destination: destinationOf(Destination), readOnly }
  })
}

function destinationOf(path: string): string {
  const isFree =
    path.startsWith('/') &&
    !path.includes('\0') &&
    path.split('/').every((part) => part !== '..') &&
    !taken.has(path.replaceAll(/\/+/g, '/').replace(/\/$/, ''))
  if (isFree) return path
  const text = `a volume cannot be mounted at ${JSON.stringify(path)}: name a path such as /data`
  throw new MusterError('invalid_argument', text)
}
