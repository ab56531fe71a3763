/** The checks of what goes into a method, and of what another server answers. Compiled when they are first asked. */
import type { Static, TSchema } from 'typebox'
import { Validator } from '../fsm/validator.ts'
import { MusterError, type ErrorCode } from '../lib/errors.ts'

/** A field's path is cut here in texts, as member names come from the caller. */
const pathLengthMax = 200

/** Throws `invalid_argument`; the text names the field and never shows its value. */
export function checkOf(method: {
  readonly name: string
  readonly args: TSchema
}): (args: unknown) => void {
  const validator = new Validator(method.args)
  return (args) => {
    if (!validator.accepts(args)) throw faultOf(validator, args, method.name, 'invalid_argument')
  }
}

/** Throws `internal`: the server that answered is at fault. */
export function replyCheckOf<Reply extends TSchema>(method: {
  readonly name: string
  readonly reply: Reply
}): (reply: unknown) => asserts reply is Static<Reply> {
  const validator = new Validator(method.reply)
  return (reply) => {
    if (validator.accepts(reply)) return
    throw faultOf(validator, reply, `the answer to ${method.name}`, 'internal')
  }
}

/** Throws `incompatible`: the client agent that answered is at fault, or of another version. */
export function answerCheckOf(method: {
  readonly name: string
  readonly answer?: TSchema
}): (answer: unknown) => void {
  const { name, answer: schema } = method
  if (schema === undefined) {
    return () => {
      throw new MusterError('incompatible', `${name} is not for agents of nodes to answer`)
    }
  }
  const validator = new Validator(schema)
  return (answer) => {
    if (validator.accepts(answer)) return
    throw faultOf(validator, answer, `the agent's answer to ${name}`, 'incompatible')
  }
}

function faultOf(
  validator: Validator<TSchema>,
  value: unknown,
  what: string,
  code: ErrorCode,
): MusterError {
  const fault = validator.faultOf(value)
  const path = (fault?.path ?? '').slice(1).replaceAll('/', '.').slice(0, pathLengthMax)
  const rule = fault?.text ?? 'has the wrong shape'
  const whole = code === 'invalid_argument' ? 'the arguments' : 'it'
  return new MusterError(code, `${what}: ${path === '' ? whole : path} ${rule}`)
}
