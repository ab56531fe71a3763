/** The volumes of a task: folders of the machine that the agent's configuration names, and where the task finds them. */
import { MusterError } from '../../lib/errors.ts'
import type { Mount } from '../drivers/driver.ts'
import { placeInRoot } from '../drivers/root-place.ts'
import type { SetupOf } from './setup-of.ts'

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
    return { source: found.path, destination: placeInRoot(Destination, 'a volume'), readOnly }
  })
}
