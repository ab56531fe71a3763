/** HCL's expressions as trees: what `hcl-expression.ts` reads and `hcl-evaluate.ts` evaluates. */
import type { HclPosition } from './hcl.ts'

type At = { readonly position: HclPosition }

export type HclStep = At &
  (
    | { readonly key: string | HclExpression }
    /** A splat: of a list these steps of each item. */
    | { readonly key: null; readonly each: readonly HclStep[] }
  )

export type HclTemplatePart = string | HclExpression | HclDirective

/** What its parts come to, once, never or many times over. */
export type HclDirective = At & { readonly parts: readonly HclTemplatePart[] } & (
    | {
        readonly type: 'ifPart'
        readonly condition: HclExpression
        readonly otherwise: readonly HclTemplatePart[]
      }
    | { readonly type: 'forPart'; readonly names: ForNames; readonly of: HclExpression }
  )

export type HclExpression = At &
  (
    | { readonly type: 'literal'; readonly value: string | number | boolean | null }
    | { readonly type: 'template'; readonly parts: readonly HclTemplatePart[] }
    | { readonly type: 'list'; readonly items: readonly HclExpression[] }
    | { readonly type: 'object'; readonly entries: readonly HclEntry[] }
    /** `source`: as it was written. */
    | {
        readonly type: 'reference'
        readonly root: string
        readonly steps: readonly HclStep[]
        readonly source: string
      }
    | { readonly type: 'access'; readonly of: HclExpression; readonly steps: readonly HclStep[] }
    /** `spread`: the last argument is a list of arguments, `max(list...)`. */
    | {
        readonly type: 'call'
        readonly name: string
        readonly args: readonly HclExpression[]
        readonly spread: boolean
      }
    | ({
        readonly type: 'listFor'
        readonly item: HclExpression
      } & For)
    /** `grouped`: the items of one key are a list. */
    | ({
        readonly type: 'objectFor'
        readonly key: HclExpression
        readonly item: HclExpression
        readonly grouped: boolean
      } & For)
    | { readonly type: 'unary'; readonly operator: '-' | '!'; readonly operand: HclExpression }
    | {
        readonly type: 'binary'
        readonly operator: BinaryOperator
        readonly left: HclExpression
        readonly right: HclExpression
      }
    | {
        readonly type: 'condition'
        readonly condition: HclExpression
        readonly whenTrue: HclExpression
        readonly whenFalse: HclExpression
      }
  )

export type HclEntry = { readonly key: HclExpression; readonly value: HclExpression }

/** Names that stand for a key or an index, and for the value, of one item after the other. */
export type ForNames = { readonly key: string | null; readonly value: string }

type For = {
  readonly names: ForNames
  readonly of: HclExpression
  /** Of items for which it does not hold there is nothing. */
  readonly condition: HclExpression | null
}

export type BinaryOperator =
  | '||'
  | '&&'
  | '=='
  | '!='
  | '<='
  | '>='
  | '<'
  | '>'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
