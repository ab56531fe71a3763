/**
 * Node's HTTP. As an ES module it would be asked for each of its exports, and one of them is the getter of the WebSocket client,
 * which loads all of `fetch`: 55 ms of processor time of a start.
 */
import type * as http from 'node:http'

const loaded = process.getBuiltinModule('node:http')

export const {
  Agent,
  createServer,
  IncomingMessage,
  request,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = loaded

export type Agent = http.Agent
export type ClientRequest = http.ClientRequest
export type IncomingMessage = http.IncomingMessage
export type RequestOptions = http.RequestOptions
export type Server = http.Server
export type ServerResponse = http.ServerResponse
