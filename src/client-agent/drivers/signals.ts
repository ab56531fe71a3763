/** Signals by the names that job files have for them. */
import { constants } from 'node:os'
import { MusterError } from '../../lib/errors.ts'
import { fullSignalName } from '../../lib/signal-name.ts'

/** The name as the system has it. Throws `invalid_argument` where it has none such. */
export function signalNamed(name: string): NodeJS.Signals {
  const full = fullSignalName(name)
  for (const known of signalNames) if (known === full) return known
  throw new MusterError('invalid_argument', `${JSON.stringify(name)} is no signal of this system`)
}

export function signalNumberOf(name: string): number {
  return constants.signals[signalNamed(name)]
}

const signalNames = Object.keys(constants.signals).filter(isSignal)

function isSignal(name: string): name is NodeJS.Signals {
  return Object.hasOwn(constants.signals, name)
}
