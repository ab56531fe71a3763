/** Operands of constraints, as a table. */
import t from 'tap'
import { isMet, Patterns } from '../../src/scheduler/operands.ts'
import { scheduledNode } from '../../src/scheduler/scheduled-node.ts'
import { nodeRow } from './cluster.ts'

const node = scheduledNode(
  nodeRow(7, {
    nodeClass: 'large',
    attributes: [
      ['kernel.name', 'linux'],
      ['kernel.version', '6.1.20'],
      ['cpu.numcores', '16'],
      ['driver.version', '1.3.0-beta1+ent'],
    ],
    meta: [['disks', 'ssd, nvme,hdd']],
  }),
)

const cases: readonly [left: string, operand: string, right: string, isMet: boolean][] = [
  ['${attr.kernel.name}', '=', 'linux', true],
  ['${attr.kernel.name}', '==', 'windows', false],
  ['${attr.kernel.name}', 'is', 'linux', true],
  ['${attr.kernel.name}', '!=', 'windows', true],
  ['${attr.kernel.name}', 'not', 'linux', false],
  ['${attr.absent}', '!=', 'linux', true],
  ['${attr.absent}', '=', '', false],
  ['${node.class}', '=', 'large', true],
  ['${node.datacenter}', '=', 'dc1', true],
  ['${node.unique.name}', '=', 'n7', true],
  ['${node.unknown}', '=', 'n7', false],
  ['linux', '=', '${attr.kernel.name}', true],
  ['${attr.cpu.numcores}', '>', '9', true],
  ['${attr.cpu.numcores}', '>=', '16', true],
  ['${attr.cpu.numcores}', '<', '16', false],
  ['${attr.cpu.numcores}', '<=', '16.5', true],
  ['${attr.kernel.name}', '<', 'minix', true],
  ['${attr.absent}', '<', 'z', false],
  ['${attr.kernel.name}', 'regexp', '^lin', true],
  ['${attr.kernel.name}', 'regexp', '^inu', false],
  ['${attr.kernel.name}', 'regexp', '(', false],
  ['${attr.kernel.version}', 'version', '>= 6.1, < 7', true],
  ['${attr.kernel.version}', 'version', '~> 6.1', true],
  ['${attr.kernel.version}', 'version', '~> 6.1.0', true],
  ['${attr.kernel.version}', 'version', '~> 6.0.9', false],
  ['${attr.kernel.version}', 'version', '!= 6.1.20', false],
  ['${attr.kernel.name}', 'version', '>= 0', false],
  ['${attr.driver.version}', 'version', '>= 1.2', false],
  ['${attr.driver.version}', 'version', '>= 1.3.0-alpha', true],
  ['${attr.driver.version}', 'semver', '>= 1.2', true],
  ['${attr.driver.version}', 'semver', '>= 1.3.0', false],
  ['${attr.driver.version}', 'semver', '> 1.3.0-beta0', true],
  ['${meta.disks}', 'set_contains', 'ssd,hdd', true],
  ['${meta.disks}', 'set_contains_all', 'ssd,tape', false],
  ['${meta.disks}', 'set_contains_any', 'tape,nvme', true],
  ['${meta.disks}', 'set_contains_any', 'tape', false],
  ['${meta.disks}', 'is_set', '', true],
  ['${meta.rack}', 'is_set', '', false],
  ['${meta.rack}', 'is_not_set', '', true],
  ['${meta.disks}', 'is_not_set', '', false],
]

t.test('a constraint is met as its operand says', async (t) => {
  const patterns = new Patterns()
  for (const [LTarget, Operand, RTarget, expected] of cases) {
    const met = isMet({ LTarget, Operand, RTarget }, node, patterns)
    t.equal(met, expected, `${LTarget} ${Operand} ${RTarget}`)
  }
})
