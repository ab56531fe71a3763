/** What routes of the storm brake take and answer. */
import { Type } from 'typebox'
import { count, flag, GoDuration, indexes, nullable, text, Time } from '../../api/shape.ts'
import { brakeCauses } from './brake-model.ts'

const settings = {
  SharePercent: count('More lost nodes than this share are a storm; 0: there is no brake'),
  MinNodes: count('Fewer lost nodes are none'),
  Window: GoDuration,
  MaxHold: GoDuration,
}

const Release = Type.Object(
  { Time, Cause: Type.Enum([...brakeCauses]), AccessorID: text('Of the token that asked') },
  { title: 'StormBrakeRelease' },
)

export const StormBrake = Type.Object(
  {
    On: flag('Work of lost nodes is not placed elsewhere'),
    Since: nullable(Time),
    Until: nullable(Time),
    LostNodes: count('That were lost in the window, or in this storm'),
    Nodes: count('These, and all that are not down'),
    HeldEvaluations: count('Evaluations that wait for the release'),
    ...settings,
    LastRelease: nullable(Release),
    ...indexes,
  },
  { title: 'StormBrake' },
)

export const StormBrakeBody = Type.Partial(Type.Object(settings))

export const Released = Type.Object({ Released: flag('False: it was not on') })
