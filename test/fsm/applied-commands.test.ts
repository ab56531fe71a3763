/** Who listens hears of commands in the order of the log, and of states that came whole. */
import t from 'tap'
import { proposable } from '../../src/fsm/domain.ts'
import { carrySnapshot, toyMachine, things, ToyLog } from './toy.ts'

const putThing = proposable<{ readonly space: string; readonly name: string }, unknown>('toy.put')

void t.test('commands of one type are told in order, once their state is visible', async (t) => {
  const machine = await toyMachine(t)
  const heard: string[] = []
  const leave = machine.onCommand(putThing, ({ index, args: { space, name } }) => {
    const visible = machine.reader().get(things, [space, name]) !== undefined
    heard.push(`${index} ${name} ${visible ? 'visible' : 'hidden'}`)
  })
  const log = new ToyLog(machine)
  await machine.apply(log.put('a', 'one').remove('a', 'none').put('a', 'two').take())
  t.same(heard, ['1 one visible', '3 two visible'])
  leave()
  await machine.apply(log.put('a', 'three').take())
  t.equal(heard.length, 2)
  t.throws(() => machine.onCommand(proposable('toy.none'), () => {}), { code: 'internal' })
})

void t.test('a snapshot that is installed is told, its commands are not', async (t) => {
  const [from, to] = [await toyMachine(t), await toyMachine(t)]
  await from.apply(new ToyLog(from).put('a', 'one').put('a', 'two').take())
  const heard: string[] = []
  to.onCommand(putThing, () => heard.push('put'))
  const leave = to.onReplaced(() => {
    heard.push(`replaced ${to.appliedIndex}`)
  })
  await carrySnapshot(from, to)
  t.same(heard, ['replaced 2'])
  leave()
})

void t.test(
  'commands of a write with a name are told, once all servers can read names',
  async (t) => {
    const machine = await toyMachine(t)
    const heard: unknown[] = []
    const leave = machine.onNamed((command) => heard.push(command))
    const count = { type: 'toy.count', args: { name: 'n' } }
    const raise = { type: 'state.raiseVersion', args: { version: 3 } }
    const apply = async (data: Uint8Array) => {
      const index = machine.appliedIndex + 1
      // Bytes as they come from the log: not those that this machine encoded.
      return machine.apply([{ index, term: 4, kind: 'command', data: Buffer.from(data) }])
    }
    t.throws(() => machine.encodeCommand(count, 'w'), { code: 'unavailable' })
    await apply(machine.encodeCommand(raise))
    await apply(machine.encodeCommand(count))
    t.same(await apply(machine.encodeCommand(count, 'w')), [2])
    t.same(heard, [{ name: 'w', type: 'toy.count', index: 3, outcome: 2 }])
    t.equal(machine.appliedTerm, 4)
    leave()
    await apply(machine.encodeCommand(count, 'w'))
    t.equal(heard.length, 1)
  },
)
