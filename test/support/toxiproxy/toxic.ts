/**
 * A TCP proxy that breaks connections on request and speaks Toxiproxy's HTTP API, so that tests need no
 * other program. Only tests import this folder.
 *
 * This file parses what a toxic is, as it comes over the API.
 */
export type Stream = 'upstream' | 'downstream'

/** Fields of each type with their defaults. Times in ms unless said otherwise. */
const attributeDefaults = {
  /** Delays everything by `latency`, give or take `jitter`. */
  latency: { latency: 0, jitter: 0 },
  /** `rate` in KB/s; 0 is no limit. */
  bandwidth: { rate: 0 },
  /** Delays the end of the stream. */
  slow_close: { delay: 0 },
  /** Drops everything, and closes after `timeout`; 0 drops until the toxic is removed. */
  timeout: { timeout: 0 },
  /** Drops everything, and resets the connection `timeout` after the first bytes. */
  reset_peer: { timeout: 0 },
  /** Cuts into pieces of `average_size` bytes, give or take, `delay` in µs between them. */
  slicer: { average_size: 0, size_variation: 0, delay: 0 },
  /** Closes the connection after so many bytes. */
  limit_data: { bytes: 0 },
} as const

export type ToxicType = keyof typeof attributeDefaults

type AttributesOf<Type extends ToxicType> = {
  [Name in keyof (typeof attributeDefaults)[Type]]: number
}

/** Attributes are replaced when the toxic is updated; stages read them anew for every piece. */
export type Toxic = {
  [Type in ToxicType]: {
    readonly type: Type
    readonly name: string
    readonly stream: Stream
    /** Share of connections that it affects, 0 to 1. */
    toxicity: number
    attributes: AttributesOf<Type>
  }
}[ToxicType]

/** A request that the API answers with `status` and the text. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isToxicType(value: unknown): value is ToxicType {
  return typeof value === 'string' && Object.hasOwn(attributeDefaults, value)
}

export function parseToxic(body: unknown): Toxic {
  if (!isRecord(body)) throw new ApiError(400, 'bad request body: a toxic is a JSON object')
  const type = body['type']
  if (!isToxicType(type)) throw new ApiError(400, 'invalid toxic type')
  const stream = body['stream'] ?? 'downstream'
  if (stream !== 'upstream' && stream !== 'downstream') {
    throw new ApiError(400, 'stream was invalid, can be either upstream or downstream')
  }
  const name = body['name'] ?? `${type}_${stream}`
  if (typeof name !== 'string' || name === '') throw new ApiError(400, 'name must be a string')
  const toxic = {
    type,
    name,
    stream,
    toxicity: parseToxicity(body['toxicity'], 1),
    attributes: parseAttributes(body['attributes'], attributeDefaults[type]),
  }
  // The table above gives each type its own attributes.
  return toxic as Toxic
}

/** An update changes the toxicity and the attributes it names, nothing else. */
export function updateToxic(toxic: Toxic, body: unknown): void {
  if (!isRecord(body)) throw new ApiError(400, 'bad request body: a toxic is a JSON object')
  const toxicity = parseToxicity(body['toxicity'], toxic.toxicity)
  const attributes = parseAttributes(body['attributes'], toxic.attributes)
  toxic.toxicity = toxicity
  Object.assign(toxic.attributes, attributes)
}

function parseToxicity(value: unknown, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw new ApiError(400, 'toxicity must be a number from 0 to 1')
}

function parseAttributes(
  value: unknown,
  base: Readonly<Record<string, number>>,
): Record<string, number> {
  const given = value ?? {}
  if (!isRecord(given)) throw new ApiError(400, 'attributes must be an object')
  const result = { ...base }
  for (const name of Object.keys(base)) {
    const attribute = given[name]
    if (attribute === undefined) continue
    if (typeof attribute !== 'number' || !Number.isFinite(attribute) || attribute < 0) {
      throw new ApiError(400, `attribute ${name} must be a number, 0 or more`)
    }
    result[name] = attribute
  }
  return result
}
