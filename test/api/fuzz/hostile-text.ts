/**
 * Texts that somebody would send to find a hole, and the ways to write one into a URL. Only the texts are listed; names of
 * parameters and members are learned from the product itself.
 */
import fc from '../../support/fast-check.ts'

const longTextLengthMax = 12_000

const numbers = [
  '0 1 -1 -0 +1 00 1.5 1e3 1e309 0x10 NaN Infinity -9223372036854775809',
  '2147483648 9007199254740991 9007199254740993 9223372036854775808',
  '18446744073709551615 18446744073709551616 99999999999999999999999999999999',
].flatMap((line) => line.split(' '))

const durations =
  '0s 1ns 10s -10s 1m30s .5h 1h1h 1d 10S 1e3s 9223372036854775807ns 999999999h 87600h'.split(' ')

const words =
  'true false null undefined __proto__ constructor prototype toString hasOwnProperty then'.split(
    ' ',
  )

const marks = [
  '',
  ' ',
  '*',
  '.',
  '..',
  '../../etc/passwd',
  '/',
  '//',
  'a//b/',
  '%',
  '%00',
  '\0',
  'a\0b',
  '\r\nX-Other: 1',
  '\t',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\u202ecod',
  '\ud800',
  'a\udfffb',
  '\uffff',
  '💥',
  '𝒳'.repeat(40),
  'İ',
  '\u212a',
  'ﬁ',
  'e\u0301',
  '"',
  "'",
  '\\',
  '`',
  '<b>',
  '{}',
  '[]',
  '${1}',
  'a,b;c=d&e',
  '127.0.0.1:1',
  '[::1]:65536',
  'http://127.0.0.1:1/',
]

const filters = [
  'Name == "a"',
  'Name != a and (Node is empty or ID is not empty)',
  'Meta["__proto__"] == a',
  'Name matches "(a+)+$"',
  'Name matches "["',
  '"a" in Tags',
  'Name ==',
  'not not not Name == a',
  `${'('.repeat(300)}Name == a`,
  `${'not '.repeat(2_000)}Name == a`,
]

const policies = [
  'key "a" { policy = "write" }',
  'key_prefix "" { policy = "deny" }\nnode "*" { policy = "read" }',
  '{"key": {"a": {"policy": "write"}}}',
  '{"namespace": {"*": {"variables": {"path": {"*": {"capabilities": ["read"]}}}}}}',
  'key "a" {',
  '<<EOT\nx',
  'a '.repeat(2_000),
  'x {'.repeat(200),
]

const long = [100, 129, 513, 4_097, longTextLengthMax].flatMap((length) => [
  'a'.repeat(length),
  'é'.repeat(length / 2),
])

/** `known`: of the product at hand, so that a part of what is sent comes to something. */
export function hostileText(known: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...known) },
    { weight: 4, arbitrary: fc.constantFrom(...numbers, ...durations, ...words) },
    { weight: 4, arbitrary: fc.constantFrom(...marks) },
    { weight: 1, arbitrary: fc.constantFrom(...filters, ...policies) },
    { weight: 1, arbitrary: fc.constantFrom(...long) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  )
}

export type Spelling = (text: string) => string

/** Latin-1 text that a client can put into a request line; each is one byte. */
const spellings: readonly Spelling[] = [
  percentEncoded,
  // As it is, where a request line can hold it.
  (text) =>
    /^[!"$&'()*+,\-./0-9:;<=>@A-Z[\\\]^_`a-z{|}~\u0080-\u00ff]*$/.test(text)
      ? text
      : percentEncoded(text),
  (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  (text) => percentEncoded(percentEncoded(text)),
  (text) => `${percentEncoded(text)}%`,
  (text) => `${percentEncoded(text)}%zz`,
  (text) => `%ff${percentEncoded(text)}%c0%80`,
  (text) => `${percentEncoded(text)}%0a`,
  (text) => percentEncoded(text).replaceAll('%20', '+'),
]

export const spelling: fc.Arbitrary<Spelling> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(percentEncoded) },
  { weight: 2, arbitrary: fc.constantFrom(...spellings) },
)

/** Lone surrogates as the three bytes that they would be. */
function percentEncoded(text: string): string {
  return text.replaceAll(/./gsu, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : surrogate(character.charCodeAt(0)),
  )
}

function surrogate(code: number): string {
  const bytes = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]
  return bytes.map((byte) => `%${byte.toString(16)}`).join('')
}
