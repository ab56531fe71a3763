/** `muster operator scheduler brake status`. */
import { flagOf, integerOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { readBrake } from './brake.ts'

export const brakeStatus: Verb = {
  operands: noOperands,
  about: `
Shows whether the storm brake is on. While it is, what ran on lost nodes is not placed elsewhere:
more nodes were lost at about the same time than single machines fail. It is released by itself when
enough of them are back, or after Max Hold, and by 'muster operator scheduler brake release'.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const brake = await readBrake(client)
    await show(call, brake, (style) => {
      const on = flagOf(brake, 'On')
      return pairs([
        ['On', { text: String(on), paint: on ? style.bad : style.good }],
        ['Since', textOrNone(brake['Since'])],
        ['Until', on ? textOrNone(brake['Until'], 'released') : '<none>'],
        ['Lost Nodes', `${integerOf(brake, 'LostNodes')} of ${integerOf(brake, 'Nodes')}`],
        ['Held Evaluations', integerOf(brake, 'HeldEvaluations')],
        ['Last Release', releaseOf(brake)],
        ['Share', `${integerOf(brake, 'SharePercent')} %`],
        ['Min Nodes', integerOf(brake, 'MinNodes')],
        ['Window', textOf(brake, 'Window')],
        ['Max Hold', textOf(brake, 'MaxHold')],
      ])
    })
    return exits.ok
  },
}

function textOrNone(value: Json | undefined, none = '<none>'): string {
  return typeof value === 'string' ? value : none
}

function releaseOf(brake: JsonObject): string {
  const release = brake['LastRelease']
  if (!isObject(release)) return '<none>'
  const cause = textOf(release, 'Cause')
  return `${textOf(release, 'Time')}: ${causes[cause] ?? cause}`
}

const causes: Readonly<Record<string, string>> = {
  returned: 'enough nodes were back',
  time: 'it had held for Max Hold',
  operator: 'by an operator',
  settings: 'it was switched off',
}
