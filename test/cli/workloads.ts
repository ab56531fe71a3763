/** Answers about jobs, evaluations and allocations, as servers give them. */
import type { Reply } from './api-stand-in.ts'

export const ids = {
  evaluation: 'e1111111-0000-4000-8000-000000000001',
  blocked: 'e1222222-0000-4000-8000-000000000002',
  allocation: 'a1111111-0000-4000-8000-000000000001',
  older: 'a2222222-0000-4000-8000-000000000002',
  node: 'b1111111-0000-4000-8000-000000000001',
}

export const created = 1_700_000_000_000_000_000
export const nowMs = 1_700_000_192_000

export function evaluation(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ID: ids.evaluation,
    Namespace: 'default',
    Type: 'service',
    Priority: 50,
    TriggeredBy: 'job-register',
    JobID: 'web',
    JobModifyIndex: 10,
    NodeID: '',
    NodeModifyIndex: 0,
    Status: 'complete',
    StatusDescription: '',
    Wait: 0,
    WaitUntil: '0001-01-01T00:00:00Z',
    NextEval: '',
    PreviousEval: '',
    BlockedEval: '',
    FailedTGAllocs: null,
    QueuedAllocations: { web: 0 },
    SnapshotIndex: 11,
    CreateIndex: 11,
    ModifyIndex: 13,
    CreateTime: created,
    ModifyTime: created,
    ...changes,
  }
}

export function metrics(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    NodesEvaluated: 3,
    NodesFiltered: 0,
    NodesExhausted: 0,
    NodesAvailable: { dc1: 3 },
    ClassFiltered: null,
    ConstraintFiltered: null,
    ClassExhausted: null,
    DimensionExhausted: null,
    QuotaExhausted: null,
    Scores: {},
    ScoreMetaData: null,
    AllocationTime: 1_000,
    CoalescedFailures: 0,
    ...changes,
  }
}

export const unplaced = evaluation({
  BlockedEval: ids.blocked,
  FailedTGAllocs: {
    web: metrics({
      NodesExhausted: 1,
      ConstraintFiltered: { 'missing drivers': 2 },
      DimensionExhausted: { memory: 1 },
      CoalescedFailures: 1,
    }),
  },
})

export function allocation(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ID: ids.allocation,
    EvalID: ids.evaluation,
    Name: 'web.web[0]',
    Namespace: 'default',
    NodeID: ids.node,
    NodeName: 'box',
    JobID: 'web',
    JobVersion: 1,
    TaskGroup: 'web',
    DesiredStatus: 'run',
    ClientStatus: 'running',
    CreateIndex: 12,
    ModifyIndex: 15,
    CreateTime: created,
    ModifyTime: created + 60e9,
    ...changes,
  }
}

export function job(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ID: 'web',
    ParentID: '',
    Name: 'web',
    Namespace: 'default',
    Type: 'service',
    Priority: 50,
    Datacenters: ['dc1', 'dc2'],
    Status: 'running',
    Stop: false,
    Stable: false,
    Version: 1,
    Periodic: null,
    ParameterizedJob: null,
    SubmitTime: created,
    TaskGroups: [{ Name: 'web', Count: 3 }],
    ...changes,
  }
}

/** What a write to a job answers. */
export const evaluated: Reply = {
  json: {
    EvalID: ids.evaluation,
    EvalCreateIndex: 11,
    JobModifyIndex: 10,
    Warnings: '',
    Index: 11,
  },
}

export const evaluationPath = `GET /v1/evaluation/${ids.evaluation}`

/** An evaluation that is done at once, and what it placed. */
export const done: Readonly<Record<string, Reply>> = {
  [evaluationPath]: { json: evaluation() },
  [`${evaluationPath}/allocations`]: { json: [allocation()] },
}
