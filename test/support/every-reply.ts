/** The shapes of all replies of a server's API. */
import { serverDomains } from '../../src/domains/registry.ts'
import { ReplyShapes } from './reply-shapes.ts'

export const everyReply = new ReplyShapes(serverDomains.flatMap(({ routes = [] }) => routes))
