/**
 * `userfilter` and `groupfilter` as templates: text with `{{.UserAttr}}`, `{{.Username}}` or `{{.UserDN}}` in it, blanks and
 * trim marks (`{{- .Username -}}`) allowed. It is the part of Go's templates that such filters use; pipes, conditions and
 * functions are refused when the configuration is written. What is filled in was escaped for filters before.
 */
import { MusterError } from '../../lib/errors.ts'

export type Variable = 'UserAttr' | 'Username' | 'UserDN'

export type Template = readonly (string | { readonly variable: Variable })[]

/** Throws `invalid_argument`, naming `field`, for what is no template over `variables`. */
export function parseTemplate(
  text: string,
  variables: readonly Variable[],
  field: string,
): Template {
  const parts: (string | { readonly variable: Variable })[] = []
  let at = 0
  let trimNext = false
  for (;;) {
    const open = text.indexOf('{{', at)
    const literal = text.slice(at, open === -1 ? undefined : open)
    const shown = trimNext ? literal.trimStart() : literal
    if (open === -1) {
      parts.push(shown)
      return parts
    }
    const close = text.indexOf('}}', open)
    if (close === -1) throw notParsable(field, 'an action is not closed')
    const action = text.slice(open + 2, close)
    const match = /^(- )?\s*\.([A-Za-z]+)\s*( -)?$/.exec(action)
    const variable = variables.find((name) => name === match?.[2])
    if (match === null || variable === undefined) {
      const known = variables.map((name) => `{{.${name}}}`).join(', ')
      throw notParsable(field, `only ${known} can be filled in`)
    }
    parts.push(match[1] === undefined ? shown : shown.trimEnd(), { variable })
    trimNext = match[3] !== undefined
    at = close + 2
  }
}

export function fillTemplate(
  template: Template,
  values: Readonly<Record<Variable, string>>,
): string {
  return template.map((part) => (typeof part === 'string' ? part : values[part.variable])).join('')
}

export function usesVariable(template: Template, variable: Variable): boolean {
  return template.some((part) => typeof part !== 'string' && part.variable === variable)
}

function notParsable(field: string, why: string): MusterError {
  return new MusterError('invalid_argument', `${field} cannot be parsed as a template: ${why}`)
}
