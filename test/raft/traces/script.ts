/**
 * The commands of the scripts in this folder.
 *
 *   servers a b c                voters whose log holds their configuration, in term 1
 *   servers a b c d:learner      … and a learner; `x:new` is a server with an empty log
 *   servers a b c lease          … whose leader may answer linearizable reads by its lease
 *   draws a 0 b 0.9              their timeouts: from 1 (at 0) to 1.5 times (at 1) 1,000 ms; before `servers` also their
 *                                first ones, which else grow from server to server
 *   pass 1000 [quietly]          time passes; quietly: changes are told, messages and writes are not
 *   propose a x y                propose `x` and `y` at a, in one turn
 *   add a d · promote a d · remove a d     change the members at leader a
 *   transfer a b                 leader a hands over to b
 *   read a [lease]               a reads; `lease`: the leader's lease is good enough
 *   compact a 5                  the log of a lets go of its entries up to 5
 *   cut a b · cut a>b · isolate a · heal   ways between servers
 *   stall a · sync a [once]      the disk of a stands still, or goes on; once: only with what it was asked by now
 *   status [a …]                 what each server is, and its log
 */
import type { ServerId } from '../../../src/raft/core/message.ts'
import { runScript } from '../../support/golden-traces.ts'
import { memberOf, Table } from './table.ts'

/** Throws for a line that is no command, with its number. */
export function run(script: string): string {
  const draws = new Map<ServerId, number>()
  let table: Table | null = null
  return runScript(script, (words) => {
    if (words[0] === 'draws') {
      for (const [id, share] of drawsOf(words)) {
        draws.set(id, share)
        table?.draws(id, share)
      }
    } else if (words[0] === 'servers') table = tableOf(words.slice(1), draws)
    else if (table === null) throw new Error('a script begins with its servers')
    else perform(table, words)
    return table?.takeTold() ?? []
  })
}

function drawsOf(words: readonly string[]): readonly (readonly [ServerId, number])[] {
  const pairs: [ServerId, number][] = []
  for (let at = 1; at < words.length; at += 2) pairs.push([words[at] ?? '', Number(words[at + 1])])
  return pairs
}

function tableOf(words: readonly string[], draws: ReadonlyMap<ServerId, number>): Table {
  const named = words.filter((word) => word !== 'lease').map((word) => word.split(':'))
  const ids = (role: string | undefined) =>
    named.filter(([, other]) => other === role).map(([id = '']) => id)
  return new Table([...ids(undefined), ...ids('learner')], {
    learners: ids('learner'),
    newcomers: ids('new'),
    leaseReads: words.includes('lease'),
    draws,
  })
}

function perform(table: Table, words: readonly string[]): void {
  const [command, first = '', second = ''] = words
  switch (command) {
    case 'pass':
      return table.pass(Number(first), second === 'quietly')
    case 'propose':
      return table.propose(first, words.slice(2))
    case 'add':
      return table.changeMembers(first, { type: 'addLearner', member: memberOf(second) })
    case 'promote':
      return table.changeMembers(first, { type: 'promote', id: second })
    case 'remove':
      return table.changeMembers(first, { type: 'remove', id: second })
    case 'transfer':
      return table.transfer(first, second)
    case 'read':
      return table.read(first, second !== 'lease')
    case 'compact':
      return table.compact(first, Number(second))
    case 'cut':
      return cut(table, first, second)
    case 'isolate':
      return table.isolate(first)
    case 'heal':
      return table.heal()
    case 'stall':
      return table.stall(first)
    case 'sync':
      return table.sync(first, second === 'once')
    case 'status':
      return table.status(words.slice(1))
    default:
      throw new Error(`there is no command ${command}`)
  }
}

/** `a>b`: one way. `a b`: both. */
function cut(table: Table, first: string, second: ServerId): void {
  const [from = '', to] = first.split('>')
  if (to !== undefined) {
    table.cut(from, to)
    return
  }
  table.cut(first, second)
  table.cut(second, first)
}
