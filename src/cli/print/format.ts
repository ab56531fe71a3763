/** How a command shows what it learned: for people, as JSON, or through a template. */
import type { Json } from '../../lib/exact-json.ts'
import { printJson } from '../../lib/exact-json.ts'
import { textOf } from '../../lib/errors.ts'
import { misused, type FlagTable, type Flags } from '../flags.ts'
import type { Call } from '../verb.ts'
import { styleOf, type Style } from './style.ts'

export const formatFlags: FlagTable = {
  json: { summary: 'Print JSON', value: null },
  t: {
    summary: "Print through a Go template, as in '{{range .}}{{.Name}}{{end}}'",
    value: 'TEMPLATE',
  },
}

/** Of commands about variables: Nomad's `var` calls it so. */
export const outFlags: FlagTable = {
  ...formatFlags,
  out: { summary: 'table, json, none, or go-template with -template', value: 'FORMAT' },
  template: { summary: 'The same as -t', value: 'TEMPLATE' },
}

export type Format =
  | { readonly type: 'table' }
  | { readonly type: 'json' }
  | { readonly type: 'none' }
  | { readonly type: 'template'; readonly text: string }

export function formatOf(flags: Flags): Format {
  const template = templateOf(flags)
  const out = flags.last('out')
  const wanted = new Set<string>()
  if (flags.has('json')) wanted.add('json')
  if (template !== undefined) wanted.add('go-template')
  if (out !== undefined) wanted.add(out)
  if (wanted.size > 1) misused(`choose one of ${[...wanted].join(' and ')}`)
  const [only = 'table'] = wanted
  switch (only) {
    case 'json':
    case 'none':
    case 'table':
      return { type: only }
    case 'go-template':
      return { type: 'template', text: template ?? misused('-out go-template needs -template') }
    default:
      return misused(`-out is table, json, none or go-template, not ${JSON.stringify(only)}`)
  }
}

function templateOf(flags: Flags): string | undefined {
  return flags.last('t') ?? flags.last('template')
}

/** Before anything is asked: what a command has done by the time it prints is not done again. */
export async function checkTemplate(flags: Flags, table: FlagTable): Promise<void> {
  if (table['t'] !== formatFlags['t']) return
  const text = templateOf(flags)
  if (text === undefined) return
  const { checkedTemplate } = await import('../../lib/template/evaluate.ts')
  try {
    checkedTemplate(text)
  } catch (error) {
    misused(textOf(error))
  }
}

/**
 * Prints `value` in the format asked for; `people` is asked only when it is for them. `once`: it is not to be had again, and where a
 * template cannot show it people see it.
 */
export async function show(
  { flags, terminal }: Call,
  value: Json,
  people: (style: Style) => string,
  once = false,
): Promise<void> {
  const format = formatOf(flags)
  switch (format.type) {
    case 'table':
      terminal.out(people(styleOf(terminal)))
      return
    case 'json':
      terminal.out(printJson(value))
      return
    case 'none':
      return
    case 'template': {
      const { renderTemplate } = await import('../../lib/template/evaluate.ts')
      let text: string
      try {
        text = renderTemplate(format.text, value)
      } catch (error) {
        if (once) terminal.out(people(styleOf(terminal)))
        throw error
      }
      terminal.out(text.endsWith('\n') ? text : `${text}\n`)
    }
  }
}
