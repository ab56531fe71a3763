/**
 * How a check is carried out once: by HTTP, TCP, gRPC or a script. Each probe owns its sockets and processes and has
 * ended them when it resolves.
 *
 * This file: what a probe gives.
 */
import type { CheckStatus } from '../../catalog/model.ts'

export type ProbeResult = { readonly status: CheckStatus; readonly output: string }
