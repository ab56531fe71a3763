/**
 * The commands of the scripts in this folder.
 *
 *   members a b c                each knows itself alone
 *   join b a                     b joins the pool through a
 *   leave b · force b c          b leaves gracefully; b gives the failed c up for all
 *   pass 1000 [quietly]          time passes; quietly: what is seen is told, what is said is not
 *   kill c                       its process is gone
 *   lose a c · cut a c · heal    packets between two are lost, either way; cut: streams do not open either
 *   status [a …]                 whom each knows, and how they are
 */
import { runScript } from '../../support/golden-traces.ts'
import { Table } from './table.ts'

/** Throws for a line that is no command, with its number. */
export function run(script: string): string {
  let table: Table | null = null
  return runScript(script, (words) => {
    if (words[0] === 'members') table = new Table(words.slice(1))
    else if (table === null) throw new Error('a script begins with its members')
    else perform(table, words)
    return table.takeTold()
  })
}

function perform(table: Table, words: readonly string[]): void {
  const [command, first = '', second = ''] = words
  switch (command) {
    case 'join':
      table.join(first, second)
      // The answer to its question arrives in the same moment.
      return table.pass(0, false)
    case 'leave':
      return table.leave(first)
    case 'force':
      return table.forceLeave(first, second)
    case 'kill':
      return table.kill(first)
    case 'lose':
      table.lose(first, second)
      return table.lose(second, first)
    case 'cut':
      table.cut(first, second)
      return table.cut(second, first)
    case 'heal':
      return table.heal()
    case 'pass':
      return table.pass(Number(first), second === 'quietly')
    case 'status':
      return table.status(words.slice(1))
    default:
      throw new Error(`there is no command ${command}`)
  }
}
