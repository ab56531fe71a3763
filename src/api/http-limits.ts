/** The bounds of the HTTP server, for all its listeners and clients together unless said. */
export type HttpLimits = {
  readonly bodyBytesMax: number
  /** All bodies that are read into memory together; beyond it they get 503. */
  readonly bodiesBytesMax: number
  /** The request line and all headers. */
  readonly headBytesMax: number
  /** For the whole head to arrive. */
  readonly headMs: number
  /** For a whole body to arrive. */
  readonly bodyMs: number
  /** For the next piece of a body that is read into memory. */
  readonly bodyStallMs: number
  /** For the next piece of a streamed body. */
  readonly bodyIdleMs: number
  /** Of a streamed body, while the server waits for it; slower ones get `bodyIdleMs` in all. */
  readonly bodyBytesPerSecondMin: number
  /** For a client to take what is sent. */
  readonly stallMs: number
  /** Of answers that clients have not taken; beyond it others than small ones wait or get 503. */
  readonly answerBytesMax: number
  /** An idle connection is kept this long. */
  readonly keepAliveMs: number
  /** All listeners together; beyond it requests get 503. */
  readonly requestsMax: number
  readonly connectionsMax: number
  readonly connectionsPerClientMax: number
  readonly pipelinedMax: number
  readonly gzipBytesMin: number
  /** After a refusal the rest of the body is read away, so that the client gets to see the answer. */
  readonly lingerBytesMax: number
  readonly lingerMs: number
}

export const defaultHttpLimits: HttpLimits = {
  bodyBytesMax: 1_048_576,
  bodiesBytesMax: 67_108_864,
  headBytesMax: 16_384,
  headMs: 10_000,
  bodyMs: 30_000,
  bodyStallMs: 10_000,
  bodyIdleMs: 30_000,
  bodyBytesPerSecondMin: 8_192,
  stallMs: 60_000,
  answerBytesMax: 67_108_864,
  keepAliveMs: 75_000,
  requestsMax: 60_000,
  connectionsMax: 60_000,
  connectionsPerClientMax: 10_000,
  pipelinedMax: 128,
  gzipBytesMin: 1_024,
  lingerBytesMax: 16_777_216,
  lingerMs: 2_000,
}
