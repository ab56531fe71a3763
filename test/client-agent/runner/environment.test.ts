/** What a task is told, and what stands for `${…}`. */
import t from 'tap'
import {
  environmentOf,
  interpolated,
  interpolatedConfig,
} from '../../../src/client-agent/runner/environment.ts'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import type { Assigned } from '../../../src/domains/allocations/feed-model.ts'
import { memoryUnlimitedMb } from '../../../src/domains/allocations/model.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'

const id = '01234567-0000-4000-8000-000000000000'
const task = {
  Name: 'main',
  Meta: { 'a-b': 'task' },
  Env: { OWN: '${NOMAD_PORT_http}', '${node.class}': 'x' },
}
const draft = {
  ID: 'j',
  TaskGroups: [{ Name: 'g', Meta: { 'a-b': 'group', rack: 'r' }, Tasks: [task] }],
}
const [group] = withDefaults(draft, 'default').TaskGroups
if (group === undefined) throw new Error('there is a group')
const [main] = group.Tasks
if (main === undefined) throw new Error('there is a task')

const assigned: Assigned = {
  id,
  name: 'j.g[3]',
  namespace: 'default',
  evalId: id,
  jobId: 'j',
  jobName: 'J',
  parentId: 'parent',
  jobType: 'service',
  jobPriority: 50,
  jobVersion: 0,
  jobMeta: { rack: 'job', top: 'yes' },
  region: 'global',
  datacenter: 'dc1',
  group,
  groupName: 'g',
  resources: {
    tasks: [{ task: 'main', cpuMhz: 7, memoryMb: 9 }],
    diskMb: 1,
    ports: [{ label: 'http', value: 8080, to: 80, address: '10.0.0.1' }],
  },
  desiredStatus: 'run',
  migrate: false,
  previous: '',
  createMs: 0,
  allocModifyIndex: 1,
}
const ofTask = {
  assigned,
  task: main,
  folders: new AllocationFolder('/data', id).of('main'),
  root: 'machine',
  facts: {
    id: 'node-1',
    region: 'global',
    address: '10.0.0.1',
    spec: {
      name: 'box',
      datacenter: 'dc1',
      nodeClass: 'fast',
      attributes: [['kernel.name', 'linux']],
      meta: [['rack', 'r1']],
      hostVolumes: [],
    },
    environment: { PATH: '/bin', MUSTER_TOKEN: 'of the agent' },
  },
} satisfies Parameters<typeof environmentOf>[0]
const { env, variables } = environmentOf(ofTask)

t.test(
  'the memory that it may use at most is there where it is not what is reserved',
  async (t) => {
    const maxOf = (memory: { readonly memoryMaxMb?: number }) => {
      const tasks = [{ task: 'main', cpuMhz: 7, memoryMb: 9, ...memory }]
      const resources = { ...assigned.resources, tasks }
      return environmentOf({ ...ofTask, assigned: { ...assigned, resources } }).env[
        'NOMAD_MEMORY_MAX_LIMIT'
      ]
    }
    t.equal(maxOf({}), undefined)
    t.equal(maxOf({ memoryMaxMb: 20 }), '20')
    t.equal(maxOf({ memoryMaxMb: memoryUnlimitedMb }), '-1')
  },
)

t.test('names of Nomad and our own say the same', async (t) => {
  const wanted = {
    ALLOC_ID: id,
    SHORT_ALLOC_ID: '01234567',
    ALLOC_INDEX: '3',
    JOB_PARENT_ID: 'parent',
    ALLOC_DIR: `/data/${id}/alloc`,
    SECRETS_DIR: `/data/${id}/main/secrets`,
    CPU_LIMIT: '7',
    MEMORY_LIMIT: '9',
    PORT_http: '80',
    ALLOC_PORT_http: '80',
    HOST_PORT_http: '8080',
    ADDR_http: '10.0.0.1:8080',
    META_a_b: 'task',
    META_A_B: 'task',
    META_rack: 'r',
    META_top: 'yes',
  }
  for (const [name, value] of Object.entries(wanted)) {
    t.equal(env[`NOMAD_${name}`], value, name)
    t.equal(env[`MUSTER_${name}`], value, name)
  }
  t.equal(env['PATH'], '/bin')
  const ports = [{ label: 'http', value: 8080, to: 0, address: '10.0.0.1' }]
  const unmapped = { ...assigned, resources: { ...assigned.resources, ports } }
  t.match(environmentOf({ ...ofTask, assigned: unmapped }).env, {
    NOMAD_PORT_http: '8080',
    NOMAD_ALLOC_PORT_http: '8080',
  })
  const { parentId: _, ...alone } = assigned
  t.notOk('NOMAD_JOB_PARENT_ID' in environmentOf({ ...ofTask, assigned: alone }).env)
  t.notOk('MUSTER_TOKEN' in env, 'nothing else of the agent')
})

t.test(
  'with a root of its own a task has its folders there, with an image nothing of the agent',
  async (t) => {
    const own = environmentOf({ ...ofTask, root: 'own' }).env
    t.match(own, { PATH: '/bin', NOMAD_ALLOC_DIR: '/alloc', NOMAD_PORT_http: '80' })
    const image = environmentOf({ ...ofTask, root: 'image' }).env
    t.match(image, {
      NOMAD_TASK_DIR: '/local',
      NOMAD_SECRETS_DIR: '/secrets',
      NOMAD_PORT_http: '80',
      NOMAD_HOST_PORT_http: '8080',
      NOMAD_ADDR_http: '10.0.0.1:8080',
    })
    t.notOk('PATH' in image)
  },
)

t.test('own variables are read through the others', async (t) => {
  t.equal(env['OWN'], '80')
  t.equal(env['fast'], 'x')
})

t.test('names have letters, digits, dots and underscores', async (t) => {
  const Env = { 'discovery.type': 'single-node', 'my-key': 'v', '1st': 'one', 'é x': 'y' }
  const more = new Map([
    ['tmpl.dot', '1'],
    ['tmpl-dash', '2'],
  ])
  const of = environmentOf({ ...ofTask, task: { ...main, Env }, more })
  t.match(of.env, {
    'discovery.type': 'single-node',
    my_key: 'v',
    _st: 'one',
    ___x: 'y',
    'tmpl.dot': '1',
    tmpl_dash: '2',
  })
  t.notOk('my-key' in of.env)
  t.equal(
    interpolated('${my-key} ${env["my_key"]} ${discovery.type}', of.variables),
    'v v single-node',
  )
})

t.test('variables have values of the node, and what is not known stays', async (t) => {
  const values = {
    '${node.unique.name}-${node.datacenter}': 'box-dc1',
    '${attr.kernel.name} ${meta.rack}': 'linux r1',
    '${env["NOMAD_JOB_ID"]} ${attr["kernel.name"]}': 'j linux',
    '${OWN} ${env.OWN}': '80 80',
    '$HOME ${unknown} ${}': '$HOME ${unknown} ${}',
  }
  for (const [text, value] of Object.entries(values)) t.equal(interpolated(text, variables), value)
})

t.test('texts are replaced wherever they are in a configuration', async (t) => {
  const config = { command: '${NOMAD_JOB_ID}', args: ['${node.class}', 1], deep: { a: ['${OWN}'] } }
  t.strictSame(interpolatedConfig(config, variables), {
    command: 'j',
    args: ['fast', 1],
    deep: { a: ['80'] },
  })
})
