/** Volumes of a task, and which folder of the machine each is. */
import t from 'tap'
import type { SetupOf } from '../../../src/client-agent/runner/setup-of.ts'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import { mountsOf } from '../../../src/client-agent/runner/task-mounts.ts'
import { setUpTask } from '../../../src/client-agent/runner/task-setup.ts'
import type { Assigned } from '../../../src/domains/allocations/feed-model.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'

const id = '01234567-0000-4000-8000-000000000000'

type Of = {
  readonly mount?: Readonly<Record<string, unknown>>
  readonly volume?: Readonly<Record<string, unknown>>
  readonly hostVolumes?: SetupOf['facts']['spec']['hostVolumes']
  readonly mountsVolumes?: boolean
}

function setupOf({ mount = {}, volume = {}, hostVolumes, mountsVolumes = true }: Of): SetupOf {
  const mounts = [{ Volume: 'v', Destination: '/data', ...mount }]
  const tasks = [{ Name: 'main', Driver: 'some', VolumeMounts: mounts }]
  const volumes = { v: { Type: 'host', Source: 'disk', ...volume } }
  const draft = { ID: 'j', TaskGroups: [{ Name: 'g', Volumes: volumes, Tasks: tasks }] }
  const [group] = withDefaults(draft, 'default').TaskGroups
  const task = group?.Tasks[0]
  if (group === undefined || task === undefined) throw new Error('there is a task')
  const assigned: Assigned = {
    id,
    name: 'j.g[0]',
    namespace: 'default',
    evalId: id,
    jobId: 'j',
    jobName: 'j',
    jobType: 'service',
    jobPriority: 50,
    jobVersion: 0,
    jobMeta: {},
    region: 'global',
    datacenter: 'dc1',
    group,
    groupName: 'g',
    resources: { tasks: [], diskMb: 1, ports: [] },
    desiredStatus: 'run',
    migrate: false,
    previous: '',
    createMs: 0,
    allocModifyIndex: 1,
  }
  const spec = { name: 'box', datacenter: 'dc1', nodeClass: '', attributes: [], meta: [] }
  return {
    assigned,
    task,
    folder: new AllocationFolder('/data', id),
    driver: { root: 'image', mountsVolumes },
    facts: {
      id: 'node-1',
      region: 'global',
      address: '10.0.0.1',
      spec: {
        ...spec,
        hostVolumes: hostVolumes ?? [{ name: 'disk', path: '/srv/disk', readOnly: false }],
      },
      environment: {},
    },
  }
}

t.test(
  'a volume is a folder of the machine, which may be written unless one of the three says no',
  (t) => {
    const whole = { source: '/srv/disk', destination: '/data', readOnly: false }
    t.same(mountsOf(setupOf({})), [whole])
    const readOnly = [{ ...whole, readOnly: true }]
    t.same(mountsOf(setupOf({ mount: { ReadOnly: true } })), readOnly)
    t.same(mountsOf(setupOf({ volume: { ReadOnly: true } })), readOnly)
    const hostVolumes = [{ name: 'disk', path: '/srv/disk', readOnly: true }]
    t.same(mountsOf(setupOf({ hostVolumes })), readOnly)
    t.end()
  },
)

t.test('what cannot be mounted is refused', async (t) => {
  const rows: readonly (readonly [string, Of, RegExp])[] = [
    ['a volume that is gone', { hostVolumes: [] }, /no host volume "disk"/],
    ['a place over the root', { mount: { Destination: '//' } }, /cannot be mounted at "\/\/"/],
    ['a place spelled otherwise', { mount: { Destination: '/./usr/bin' } }, /cannot be mounted at/],
    ['one that leads back', { mount: { Destination: '/data/.' } }, /cannot be mounted at/],
    ['a place over its folders', { mount: { Destination: '/secrets/' } }, /cannot be mounted/],
    ['a place that leads about', { mount: { Destination: '/a/../b' } }, /cannot be mounted/],
    ['a place that is relative', { mount: { Destination: 'a' } }, /name a path such as/],
    ['a shared mount', { mount: { PropagationMode: 'bidirectional' } }, /may not have the mode/],
  ]
  for (const [name, of, message] of rows) t.throws(() => mountsOf(setupOf(of)), { message }, name)
  const refused = setUpTask(setupOf({ mountsVolumes: false }))
  await t.rejects(refused, { message: /mounts no volumes by the driver some/ })
})
