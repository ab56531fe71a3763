/** What is refused in networks, ports, services and checks of a group and its tasks. */
import {
  isMetaKey,
  metaKeyLengthMax,
  metaPairsMax,
  metaValueLengthMax,
  taggedAddressesMax,
  tagLengthMax,
  tagsMax,
} from '../catalog/model.ts'
import type { TaskGroup } from './model.ts'
import {
  portLabelLengthMax,
  portsMax,
  serviceKey,
  sourceMetaKey,
  type Check,
  type Network,
  type Port,
  type Service,
} from './network-model.ts'
import type { Problems } from './problem-model.ts'
import { addressOf } from './tagged-address-model.ts'
import { checkOneOf } from './validate-rules-model.ts'

const portMax = 65_535
const checkTimeMin = 1e9
/** As agents run checks. */
const checkIntervalMax = 30 * 24 * 3_600e9
const checkTimeoutMax = 600e9
const thresholdMax = 1_000
const weightMax = 65_535
const addressModes = ['auto', 'host', 'driver', 'alloc']
const onUpdates = ['require_healthy', 'ignore_warnings', 'ignore']
const checkTypes = ['http', 'tcp', 'grpc', 'script']
const serviceName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

/** The ports of a group and of its tasks: their labels are names of one scope. */
export function checkNetworks(group: TaskGroup, path: string, problems: Problems): void {
  const labels = new Map<string, string>()
  const statics = new Map<number, string>()
  const check = (networks: readonly Network[], at: string): void => {
    for (const [index, network] of networks.entries()) {
      const here = `${at}[${index}]`
      for (const list of ['ReservedPorts', 'DynamicPorts'] as const) {
        for (const [number, port] of network[list].entries()) {
          checkPort(port, { path: `${here}.${list}[${number}]`, labels, statics }, problems)
        }
      }
    }
  }
  const all = [group, ...group.Tasks.map(({ Resources }) => Resources)]
  const count = all.reduce((sum, { Networks }) => sum + portsOf(Networks).length, 0)
  if (count > portsMax) {
    const text = `have ${count} ports, with those of the tasks: at most ${portsMax} are possible`
    problems.add(`${path}.Networks`, text)
  }
  check(group.Networks, `${path}.Networks`)
  for (const [index, task] of group.Tasks.entries()) {
    check(task.Resources.Networks, `${path}.Tasks[${index}].Resources.Networks`)
  }
}

function checkPort(
  { Label, Value, To }: Port,
  known: {
    readonly path: string
    readonly labels: Map<string, string>
    readonly statics: Map<number, string>
  },
  problems: Problems,
): void {
  const { path, labels, statics } = known
  const other = labels.get(Label)
  if (Label === '') problems.add(`${path}.Label`, 'is missing: name the port')
  else if (other !== undefined) {
    problems.add(`${path}.Label`, `${JSON.stringify(Label)} is the label of ${other} already`)
  }
  if (Label.length > portLabelLengthMax) {
    problems.add(`${path}.Label`, `must have at most ${portLabelLengthMax} letters`)
  }
  labels.set(Label, other ?? path)
  if (Value < 0 || Value > portMax) {
    problems.add(`${path}.Value`, `must be from 1 to ${portMax}, or 0 for a port that is chosen`)
  } else if (Value > 0) {
    const holder = statics.get(Value)
    if (holder !== undefined)
      problems.add(`${path}.Value`, `${Value} is the port of ${holder} already`)
    statics.set(Value, holder ?? path)
  }
  if (To < -1 || To > portMax) {
    problems.add(`${path}.To`, `must be from -1 to ${portMax}`)
  }
}

export function checkServices(group: TaskGroup, path: string, problems: Problems): void {
  const ports = new Set(portsOf(group.Networks))
  const tasks = group.Tasks.map(({ Name }) => Name)
  const keys = new Map<string, string>()
  for (const [index, service] of group.Services.entries()) {
    const at = `${path}.Services[${index}]`
    checkRepeated(service, { path: at, group: group.Name, task: null, keys }, problems)
    checkService(service, { path: at, ports, tasks }, problems)
  }
  for (const [number, task] of group.Tasks.entries()) {
    const ofTask = new Set([...ports, ...portsOf(task.Resources.Networks)])
    for (const [index, service] of task.Services.entries()) {
      const at = `${path}.Tasks[${number}].Services[${index}]`
      checkRepeated(service, { path: at, group: group.Name, task: task.Name, keys }, problems)
      checkService(service, { path: at, ports: ofTask, tasks }, problems)
    }
  }
}

/** Of two with one id in the catalog there would be one. */
function checkRepeated(
  { Name, PortLabel }: Service,
  place: {
    readonly path: string
    readonly group: string
    readonly task: string | null
    readonly keys: Map<string, string>
  },
  problems: Problems,
): void {
  const { path, keys } = place
  const key = serviceKey(place, { name: Name, label: PortLabel })
  const other = keys.get(key)
  if (other !== undefined) {
    const text = `and PortLabel come to the id of ${other} in the catalog: change one of them`
    problems.add(`${path}.Name`, text)
  }
  keys.set(key, other ?? path)
}

type Around = {
  readonly path: string
  readonly ports: ReadonlySet<string>
  /** Names of the group's tasks. */
  readonly tasks: readonly string[]
}

function portsOf(networks: readonly Network[]): readonly string[] {
  return networks.flatMap(({ ReservedPorts, DynamicPorts }) =>
    [...ReservedPorts, ...DynamicPorts].map(({ Label }) => Label),
  )
}

function checkService(service: Service, around: Around, problems: Problems): void {
  const { path, tasks } = around
  if (!serviceName.test(service.Name.replaceAll(/\$\{[^}]*\}/g, 'x'))) {
    problems.add(`${path}.Name`, 'must be letters, digits and hyphens within, at most 63')
  }
  checkOneOf(service.Provider, ['consul', 'nomad'], `${path}.Provider`, problems)
  checkOneOf(service.AddressMode, addressModes, `${path}.AddressMode`, problems)
  checkOneOf(service.OnUpdate, onUpdates, `${path}.OnUpdate`, problems)
  if (service.Address !== '' && service.AddressMode !== 'auto') {
    problems.add(`${path}.AddressMode`, 'must be auto where Address is given')
  }
  if (service.TaskName !== '' && !tasks.includes(service.TaskName)) {
    problems.add(`${path}.TaskName`, 'must be a task of the group')
  }
  checkPortLabel(service.PortLabel, `${path}.PortLabel`, around, problems)
  const { Passing = 1, Warning = 1 } = service.Weights ?? {}
  if (Passing < 1 || Passing > weightMax || Warning < 0 || Warning > weightMax) {
    const text = `must be from 1 to ${weightMax}, that of warnings from 0`
    problems.add(`${path}.Weights`, text)
  }
  checkCatalogBounds(service, path, problems)
  for (const [name, address] of Object.entries(service.TaggedAddresses ?? {})) {
    // What is known only where the task runs is looked at there.
    if (address.includes('${') || addressOf(address) !== null) continue
    problems.add(`${path}.TaggedAddresses.${name}`, 'must be an address, or one with a port')
  }
  for (const [index, check] of service.Checks.entries()) {
    checkCheck(check, service, { ...around, path: `${path}.Checks[${index}]` }, problems)
  }
}

/** As the catalog takes them. Texts that are known only where the task runs are looked at there. */
function checkCatalogBounds(
  { Tags, Meta, TaggedAddresses = {} }: Service,
  path: string,
  problems: Problems,
): void {
  if (Tags.length > tagsMax) problems.add(`${path}.Tags`, `must be at most ${tagsMax}`)
  for (const [index, tag] of Tags.entries()) {
    if (tag.length <= tagLengthMax || tag.includes('${')) continue
    problems.add(`${path}.Tags[${index}]`, `must have at most ${tagLengthMax} letters`)
  }
  if (Object.keys({ ...Meta, [sourceMetaKey]: '' }).length > metaPairsMax) {
    const text = `must have at most ${metaPairsMax - 1} entries: agents add ${sourceMetaKey}`
    problems.add(`${path}.Meta`, text)
  }
  for (const [key, value] of Object.entries(Meta)) {
    const at = `${path}.Meta[${JSON.stringify(key.slice(0, 64))}]`
    if (!isMetaKey(key)) {
      const text = `must have a name of 1 to ${metaKeyLengthMax} letters, digits, dashes or underscores`
      problems.add(at, text)
    }
    if (value.length > metaValueLengthMax && !value.includes('${')) {
      problems.add(at, `must have at most ${metaValueLengthMax} letters`)
    }
  }
  if (Object.keys(TaggedAddresses).length > taggedAddressesMax) {
    problems.add(`${path}.TaggedAddresses`, `must have at most ${taggedAddressesMax} entries`)
  }
}

/** A number is a port inside of the task's own network. */
function checkPortLabel(label: string, path: string, { ports }: Around, problems: Problems): void {
  if (label === '' || ports.has(label) || label.includes('${')) return
  if (/^\d{1,5}$/.test(label) && Number(label) >= 1 && Number(label) <= portMax) return
  problems.add(path, `${JSON.stringify(label)} is the label of no port of the group`)
}

function checkCheck(check: Check, service: Service, around: Around, problems: Problems): void {
  const { path, tasks } = around
  const type = check.Type.toLowerCase()
  checkOneOf(type, checkTypes, `${path}.Type`, problems)
  if (check.Interval < checkTimeMin) problems.add(`${path}.Interval`, 'must be at least 1s')
  if (check.Timeout < checkTimeMin) problems.add(`${path}.Timeout`, 'must be at least 1s')
  if (check.Interval > checkIntervalMax) problems.add(`${path}.Interval`, 'must be at most 720h')
  if (check.Timeout > checkTimeoutMax) problems.add(`${path}.Timeout`, 'must be at most 10m')
  const thresholds = [
    'SuccessBeforePassing',
    'FailuresBeforeCritical',
    'FailuresBeforeWarning',
  ] as const
  for (const name of thresholds) {
    const threshold = check[name] ?? 0
    if (threshold >= 0 && threshold <= thresholdMax) continue
    problems.add(`${path}.${name}`, `must be from 0 to ${thresholdMax}`)
  }
  checkOneOf(check.AddressMode, ['', ...addressModes.slice(1)], `${path}.AddressMode`, problems)
  checkOneOf(
    check.InitialStatus,
    ['', 'passing', 'warning', 'critical'],
    `${path}.InitialStatus`,
    problems,
  )
  checkOneOf(check.OnUpdate, onUpdates, `${path}.OnUpdate`, problems)
  checkPortLabel(check.PortLabel, `${path}.PortLabel`, around, problems)
  if (type === 'script') {
    if (check.Command === '') problems.add(`${path}.Command`, 'is missing: a script check runs it')
    if (check.TaskName === '') {
      problems.add(`${path}.TaskName`, 'is missing: a script check runs in a task')
    }
  } else if (check.PortLabel === '' && service.PortLabel === '') {
    problems.add(`${path}.PortLabel`, 'is missing, and its service has none')
  }
  if (
    check.TaskName !== '' &&
    check.TaskName !== service.TaskName &&
    !tasks.includes(check.TaskName)
  ) {
    problems.add(`${path}.TaskName`, 'must be a task of the group')
  }
  if (type === 'http') {
    if (check.Path === '') problems.add(`${path}.Path`, 'is missing: write one as /health')
    else if (/^[a-z][a-z0-9+.-]*:/i.test(check.Path)) {
      problems.add(`${path}.Path`, 'must be a path without scheme and host, as /health')
    }
  }
  const restart = check.CheckRestart
  if (restart !== null) {
    if (restart.Limit < 0) problems.add(`${path}.CheckRestart.Limit`, 'must not be negative')
    if (restart.Grace < 0) problems.add(`${path}.CheckRestart.Grace`, 'must not be negative')
    if (check.OnUpdate === 'ignore') {
      problems.add(`${path}.OnUpdate`, 'ignore does not go together with CheckRestart')
    }
    if (check.OnUpdate === 'ignore_warnings' && !restart.IgnoreWarnings) {
      problems.add(
        `${path}.CheckRestart.IgnoreWarnings`,
        'must be true where OnUpdate ignores them',
      )
    }
  }
}
