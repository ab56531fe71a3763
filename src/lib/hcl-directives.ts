/** Directives of templates, `%{ if … }` and `%{ for … }`: what is between them and their end becomes a part of them. */
import type { HclPosition } from './hcl.ts'
import { HCL_DEPTH_MAX } from './hcl.ts'
import type { ForNames, HclExpression, HclTemplatePart } from './hcl-tree.ts'

/** As they are written, one after the other. */
export type Directive = { readonly position: HclPosition } & (
  | { readonly type: 'if'; readonly condition: HclExpression }
  | { readonly type: 'for'; readonly names: ForNames; readonly of: HclExpression }
  | { readonly type: 'else' | 'endif' | 'endfor' }
)

type Fail = (message: string, position: HclPosition) => never

/** One that is not closed yet. */
type Open = {
  readonly directive: Directive & { readonly type: 'if' | 'for' }
  readonly parts: HclTemplatePart[]
  /** Behind `%{ else }`. */
  otherwise: HclTemplatePart[] | null
}

export function nestDirectives(
  written: readonly (string | HclExpression | Directive)[],
  fail: Fail,
): readonly HclTemplatePart[] {
  const outermost: HclTemplatePart[] = []
  const open: Open[] = []
  const current = (): HclTemplatePart[] => {
    const last = open.at(-1)
    return last?.otherwise ?? last?.parts ?? outermost
  }
  for (const part of written) {
    if (typeof part === 'string') {
      current().push(part)
      continue
    }
    const last = open.at(-1)
    switch (part.type) {
      case 'if':
      case 'for':
        if (open.length >= HCL_DEPTH_MAX) {
          fail(`directives nest deeper than ${HCL_DEPTH_MAX}`, part.position)
        }
        open.push({ directive: part, parts: [], otherwise: null })
        break
      case 'else':
        if (last?.directive.type !== 'if' || last.otherwise !== null) {
          return fail('this %{ else } belongs to no %{ if … }', part.position)
        }
        last.otherwise = []
        break
      case 'endif':
      case 'endfor': {
        if (last === undefined || `end${last.directive.type}` !== part.type) {
          return fail(
            `this %{ ${part.type} } closes no %{ ${part.type.slice(3)} … }`,
            part.position,
          )
        }
        open.pop()
        current().push(closed(last))
        break
      }
      default:
        current().push(part)
    }
  }
  const left = open.at(-1)
  if (left === undefined) return outermost
  const { type, position } = left.directive
  return fail(`this %{ ${type} … } is never closed by %{ end${type} }`, position)
}

function closed({ directive, parts, otherwise }: Open): HclTemplatePart {
  const { position } = directive
  return directive.type === 'if'
    ? {
        type: 'ifPart',
        condition: directive.condition,
        parts,
        otherwise: otherwise ?? [],
        position,
      }
    : { type: 'forPart', names: directive.names, of: directive.of, parts, position }
}
