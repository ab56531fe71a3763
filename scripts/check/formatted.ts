/** What the formatter of this repository makes of a text. */
import { format } from 'oxfmt'
import settings from '../../.oxfmtrc.json' with { type: 'json' }

/** `file`: whose text it is to be; its name tells the language. Throws where it cannot be read as that. */
export async function formatted(file: string, text: string): Promise<string> {
  const { code, errors } = await format(file, text, settings)
  if (errors.length === 0) return code
  throw new Error(`${file}: ${errors.map(({ message }) => message).join('; ')}`)
}
