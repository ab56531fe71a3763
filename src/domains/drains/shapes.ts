/** What routes about drains answer. */
import { Type } from 'typebox'
import { flag, nullable, text, Time } from '../../api/shape.ts'

export const Drain = Type.Object(
  {
    NodeID: Type.String(),
    Drain: flag('Whether the node is being drained'),
    ForceDeadline: nullable(Time),
    Waiting: Type.Array(
      Type.Object(
        {
          ID: text('Of the allocation'),
          Name: Type.String(),
          Namespace: Type.String(),
          JobID: Type.String(),
          TaskGroup: Type.String(),
          DesiredStatus: Type.String(),
          ClientStatus: Type.String(),
          Reason: text('What it waits for'),
        },
        { title: 'DrainWaiting' },
      ),
    ),
  },
  { title: 'ClientNodeDrain' },
)
