/**
 * What a node's agent and its server say to each other about the data of templates, over the uplink (`templates.data`): what the
 * tasks of the node are made of, and what that is now. Both sides check what the other one sends.
 */
import { Type, type Static } from 'typebox'
import { Count } from '../../fsm/row-schema.ts'
import type { Dependency } from '../../lib/template/task-functions.ts'
import { LogOrigin } from '../allocations/log-model.ts'
import { GroupName, RowId } from '../evaluations/model.ts'

/** A server answers by then, changed or not. */
export const dataWaitMsMax = 30_000
/** Of one agent; and all of them together, as JSON. */
export const wantsMax = 512
export const wantsLengthMax = 262_144
/** Of a path; longer keys are of no use to templates. */
export const dependencyPathMax = 1_024
/** Keys below a folder, and instances of a service, that a template is given; and all that it is given of them, as JSON. */
export const entriesMax = 1_024
export const answerLengthMax = 1_048_576
/** Of all answers of a reply, as JSON: what is more comes with the next one. */
export const replyLengthMax = 3 * 1_048_576

const Tag = Type.String({ maxLength: 64 })
const Path = Type.String({ maxLength: dependencyPathMax })
const Texts = Type.Array(Type.Tuple([Type.String(), Type.String()]))

const dependencyTypes = ['key', 'keys', 'variable', 'service'] satisfies Dependency['type'][]

/** `tag`: of the last answer; '': there was none. It is asked for a task of an allocation of the node. */
export const Want = Type.Object({
  allocation: RowId,
  task: GroupName,
  dependency: Type.Object({ type: Type.Enum(dependencyTypes), path: Path }),
  tag: Tag,
})
export type Want = Readonly<Static<typeof Want>>

/** `index`: of the last reply, 0 at first: no reply is older, whichever server gives it. */
export const DataArgs = Type.Refine(
  Type.Object({
    index: Count,
    waitMs: Type.Integer({ minimum: 0, maximum: dataWaitMsMax }),
    wants: Type.Array(Want, { minItems: 1, maxItems: wantsMax }),
  }),
  ({ wants }) => JSON.stringify(wants).length <= wantsLengthMax,
  () => `must take at most ${wantsLengthMax} characters`,
)
export type DataArgs = Readonly<Static<typeof DataArgs>>

export const Instance = Type.Object({
  id: Type.String(),
  name: Type.String(),
  node: Type.String(),
  nodeAddress: Type.String(),
  address: Type.String(),
  port: Type.Integer(),
  tags: Type.Array(Type.String()),
})
export type Instance = Readonly<Static<typeof Instance>>

export const Answer = Type.Union([
  Type.Object({ type: Type.Literal('key'), value: Type.String() }),
  /** Below the folder, without its path. */
  Type.Object({ type: Type.Literal('keys'), pairs: Texts }),
  Type.Object({ type: Type.Literal('variable'), items: Texts }),
  Type.Object({ type: Type.Literal('service'), instances: Type.Array(Instance) }),
  /** There is none. */
  Type.Object({ type: Type.Literal('none') }),
  Type.Object({ type: Type.Literal('refused'), reason: Type.String() }),
])
export type Answer = Readonly<Static<typeof Answer>>

/** Those that are others than the tags say; `at`: in the wants. `log`: that the index is of; servers of earlier versions do not say. */
export const DataReply = Type.Object({
  index: Count,
  log: Type.Optional(LogOrigin),
  answers: Type.Array(Type.Object({ at: Count, tag: Tag, answer: Answer }), { maxItems: wantsMax }),
})
export type DataReply = Readonly<Static<typeof DataReply>>
