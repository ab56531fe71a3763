/** What routes about evaluations answer. */
import { Type } from 'typebox'
import { count, indexes, mapOf, Nanoseconds, nullable, text, Time } from '../../api/shape.ts'
import { evaluationStatuses, triggers } from './model.ts'

const Counts = mapOf(count(''))

/** The best nodes, the best first. */
export const ScoreMetaData = nullable(
  Type.Array(
    Type.Object(
      {
        NodeID: Type.String(),
        Scores: mapOf(Type.Number(), 'By name'),
        NormScore: Type.Number({ description: 'In all, from -1 to 1' }),
      },
      { title: 'NodeScoreMeta' },
    ),
  ),
)

/** Why something was placed as it was, or was not. */
export const PlacementMetrics = Type.Object(
  {
    NodesEvaluated: count('Nodes that were looked at'),
    NodesFiltered: count('Nodes that the job may not run on'),
    NodesExhausted: count('Nodes without room'),
    NodesAvailable: mapOf(count(''), 'Nodes that take work, by datacenter'),
    ClassFiltered: nullable(Counts),
    ConstraintFiltered: nullable(Counts),
    ClassExhausted: nullable(Counts),
    DimensionExhausted: nullable(Counts),
    QuotaExhausted: Type.Null(),
    Scores: mapOf(Type.Number(), 'Of the best nodes: id, a dot, name of the score'),
    ScoreMetaData,
    AllocationTime: count('Nanoseconds that the placement took'),
    CoalescedFailures: count('Further allocations that failed for the same reasons'),
  },
  { title: 'PlacementMetrics' },
)

export const Evaluation = Type.Object(
  {
    ID: Type.String(),
    Namespace: Type.String(),
    Priority: count('Of the job: 1 to 100'),
    Type: text('Of the job'),
    TriggeredBy: Type.Enum([...triggers]),
    JobID: Type.String(),
    JobModifyIndex: count('Of the job as it was; 0: whatever it is'),
    NodeID: text('Of the node whose change led to it'),
    NodeModifyIndex: count('Of that node'),
    DeploymentID: text('That goes on or ends with it'),
    Status: Type.Enum([...evaluationStatuses]),
    StatusDescription: Type.String(),
    Wait: count('0'),
    WaitUntil: Time,
    NextEval: Type.String(),
    PreviousEval: Type.String(),
    BlockedEval: text('That waits until there is room'),
    RelatedEvals: Type.Null(),
    FailedTGAllocs: nullable(mapOf(PlacementMetrics, 'By group: why it has no place')),
    QueuedAllocations: mapOf(count(''), 'By group: how many have no place yet'),
    ClassEligibility: nullable(mapOf(Type.Boolean())),
    EscapedComputedClass: Type.Boolean(),
    SnapshotIndex: count('Of the state that was looked at'),
    ...indexes,
    CreateTime: Nanoseconds,
    ModifyTime: Nanoseconds,
  },
  { title: 'Evaluation' },
)
