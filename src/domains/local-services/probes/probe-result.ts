/**
 * How an agent finds out how something fares: one look, by HTTP, TCP, gRPC or a script. Each look owns its sockets and
 * processes and has ended them when it resolves. Imported by the agent's part of this domain.
 *
 * This file: what a look gives.
 */
import type { CheckStatus } from '../../catalog/model.ts'

export type ProbeResult = { readonly status: CheckStatus; readonly output: string }
