/** Functions with regular expressions: RE2 syntax, and every state that is entered is paid for. */
import { MusterError } from '../errors.ts'
import type { HclValue } from '../hcl.ts'
import { Search, type Found } from '../regex/search.ts'
import type { HclCall, HclFunctions } from './call.ts'

const statesPerStep = 8
/** To compile a pattern takes as long for each of its letters. */
const stepsPerLetter = 20

export const regexFunctions: HclFunctions = {
  regex: {
    parameters: 'pattern, text',
    run: (call) => {
      const search = compiled(call, 0)
      const text = call.text(1)
      const found = search.first(text, 0, spending(call))
      if (found === null) return call.fail('the pattern matches nothing in the text', 0)
      return capturesOf(found, text, search, call)
    },
  },
  regexall: {
    parameters: 'pattern, text',
    run: (call) => {
      const search = compiled(call, 0)
      const text = call.text(1)
      const matches: HclValue[] = []
      for (const found of search.all(text, spending(call))) {
        matches.push(capturesOf(found, text, search, call))
      }
      return call.newList(matches)
    },
  },
  regex_replace: { parameters: 'text, pattern, new', run: replaceMatches },
}

function spending(call: HclCall) {
  // Most patterns enter a few states per letter: nothing is to be rounded away.
  let owed = 0
  return (states: number): void => {
    owed += states
    if (owed < statesPerStep) return
    call.spend(Math.floor(owed / statesPerStep))
    owed %= statesPerStep
  }
}

function compiled(call: HclCall, index: number): Search {
  const source = call.text(index)
  call.spend(source.length * stepsPerLetter)
  try {
    return new Search(source)
  } catch (error) {
    if (!(error instanceof MusterError)) throw error
    return call.fail(error.message, index)
  }
}

/** The match; or its groups: a list, or where they have names an object. */
function capturesOf(found: Found, text: string, { groupNames }: Search, call: HclCall): HclValue {
  const textOf = (group: number): HclValue => {
    const [begin = -1, end = -1] = found.slice(group * 2, group * 2 + 2)
    return begin === -1 ? call.resultOf(null) : call.newText(text.slice(begin, end))
  }
  if (groupNames.length === 0) return textOf(0)
  const named = new Map<string, HclValue>()
  for (const [at, name] of groupNames.entries()) if (name !== null) named.set(name, textOf(at + 1))
  if (named.size === 0) return call.newList(groupNames.map((_, at) => textOf(at + 1)))
  if (named.size < groupNames.length) {
    return call.fail('either all groups of the pattern have names, or none has', 0)
  }
  return call.newObject(named)
}

/** `$1`, `${1}` and `${name}` in the new text stand for groups, and `$$` for a sign. */
function replaceMatches(call: HclCall): string {
  const text = call.text(0)
  const search = compiled(call, 1)
  const pieces = piecesOf(call.text(2), search)
  const result: string[] = []
  let length = 0
  const add = (piece: string): void => {
    call.spend(1)
    length += piece.length
    call.checkRoom(length)
    result.push(piece)
  }
  let end = 0
  for (const found of search.all(text, spending(call))) {
    const [from = 0, to = 0] = found
    add(text.slice(end, from))
    for (const piece of pieces) {
      if (typeof piece === 'string') add(piece)
      else add(text.slice(found[piece * 2] ?? 0, found[piece * 2 + 1] ?? 0))
    }
    end = to
  }
  add(text.slice(end))
  return result.join('')
}

/** Texts, and numbers of groups. A group that is not there is nothing. */
function piecesOf(template: string, { groupNames }: Search): readonly (string | number)[] {
  const pieces: (string | number)[] = []
  let end = 0
  for (const found of template.matchAll(/\$(?:(\$)|(\w+)|\{(\w+)\})/g)) {
    pieces.push(template.slice(end, found.index))
    end = found.index + found[0].length
    const name = found[2] ?? found[3]
    if (name === undefined) {
      pieces.push('$')
      continue
    }
    const index = /^\d+$/.test(name) ? Number(name) : groupNames.indexOf(name) + 1
    const isGroup = index <= groupNames.length && (index > 0 || /^0+$/.test(name))
    if (isGroup) pieces.push(index)
  }
  return [...pieces, template.slice(end)].filter((piece) => piece !== '')
}
